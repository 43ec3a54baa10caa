"""Pages in docs/generators/: what other projects' generators and packages write, with facts about each line."""
