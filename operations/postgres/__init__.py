"""The PostgreSQL server: the embedded one, the schema and its migrations, backups and checks."""
