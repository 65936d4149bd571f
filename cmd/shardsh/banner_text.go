package main

import (
	"fmt"
	"strings"
)

const bannerWidth = 80

// sessionBanner is what a session begins with (spec 04 §2.1): one line on the cluster,
// one on help, and the server's warnings if it has any.
type sessionBanner struct {
	// Address is the connection string without credentials; empty when there
	// is no connection.
	Address string
	// ServerVersion such as "8.0.10".
	ServerVersion string
	// Cluster is a few words on its size, such as "3 shards".
	Cluster string
	// ShellVersion such as "1.0.0".
	ShellVersion string
	// Warnings are the server's startup warnings.
	Warnings []string
}

// String returns the banner without a final line end.
func (b sessionBanner) String() string {
	var lines []string
	if b.Address != "" {
		lines = append(lines, b.connected())
	}
	lines = append(lines, strings.Join(strings.Fields("shardsh "+b.ShellVersion), " ")+
		": type help, sh.help() for sharding, .exit to leave")
	if len(b.Warnings) > 0 {
		lines = append(lines, "------")
		for _, w := range b.Warnings {
			lines = append(lines, "   "+w)
		}
		lines = append(lines, "------")
	}
	return strings.Join(lines, "\n")
}

// connected returns one line, or two where it would be too long for a terminal.
func (b sessionBanner) connected() string {
	address, server := "Connected to "+b.Address, b.server()
	switch {
	case server == "":
		return address
	case len(address)+len(server)+3 > bannerWidth:
		return address + "\n  " + server
	}
	return fmt.Sprintf("%s (%s)", address, server)
}

func (b sessionBanner) server() string {
	var about []string
	if b.ServerVersion != "" {
		about = append(about, "MongoDB "+b.ServerVersion)
	}
	if b.Cluster != "" {
		about = append(about, b.Cluster)
	}
	return strings.Join(about, ", ")
}
