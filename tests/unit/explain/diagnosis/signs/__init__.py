"""Signs that several causes share."""
