"""Pages of docs/generators/: what generators and packages of others write, with the facts about each line."""
