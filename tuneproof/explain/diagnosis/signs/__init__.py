"""What several causes look at."""
