"""The site: the pages of docs/, and the audit that runs in a browser."""
