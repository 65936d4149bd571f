package server

import (
	"shardsh/balancer/catalog"
	"shardsh/bindings/rawdoc"
)

// Version returns the server's version; zero for one that can't be parsed. It asks once for each connection.
func (c *Conn) Version() catalog.ServerVersion {
	if c.version == (catalog.ServerVersion{}) {
		info := databaseOf(c, "admin").Run(Command("buildInfo"), Repeatable)
		c.version, _ = catalog.ParseServerVersion(rawdoc.Text(info, "version"))
	}
	return c.version
}
