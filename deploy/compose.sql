-- Create the database and its role in the PostgreSQL container of compose.yaml. The image runs this file once, on an empty
-- volume.
\set ON_ERROR_STOP on
\getenv password POSTGRES_PASSWORD
CREATE ROLE flags LOGIN PASSWORD :'password';
CREATE DATABASE flags OWNER flags TEMPLATE template0 ENCODING 'UTF8';
REVOKE ALL ON DATABASE flags FROM PUBLIC;
-- Now only programs in this container can log in as the superuser.
ALTER ROLE postgres PASSWORD NULL;
