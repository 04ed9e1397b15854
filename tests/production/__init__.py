"""Production commands of docker-compose.yml, run as processes with the locked dependencies."""
