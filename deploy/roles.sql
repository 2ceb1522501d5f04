-- Create the database and its roles, without passwords. Run this file once, as a superuser.
CREATE ROLE flags_owner LOGIN;
CREATE ROLE flags_service LOGIN;
CREATE ROLE flags_prune LOGIN;

CREATE DATABASE flags OWNER flags_owner TEMPLATE template0 ENCODING 'UTF8';
REVOKE ALL ON DATABASE flags FROM PUBLIC;
GRANT CONNECT ON DATABASE flags TO flags_service, flags_prune;

\connect flags
ALTER SCHEMA public OWNER TO flags_owner;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
