"""Creates the table of nginx's directives, tuneproof/conf/directives.tsv, from nginx's sources."""
