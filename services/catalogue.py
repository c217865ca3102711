"""All servers, by name."""

from __future__ import annotations

from services.mariadb import MariaDB
from services.mysql import MySQL
from services.postgresql import PostgreSQL15, PostgreSQL18
from services.server import Server

SERVERS: dict[str, Server] = {server.name: server for server in (PostgreSQL15(), PostgreSQL18(), MariaDB(), MySQL())}
