"""SQL statements and nothing else, one module for each noun. sql/database/ opens connections and runs statements."""
