"""Creates the tables of nginx's directives and variables in tuneproof/conf from nginx's sources and documentation."""
