"""Tests of signs that several causes share."""
