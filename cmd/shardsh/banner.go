package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/humanize"
	"shardsh/cmd/shardsh/buildinfo"
)

const bannerWidth = 80

// banner asks a live cluster for its version, size and startup warnings. It leaves out what the cluster
// does not report (rules/04-command-line-and-prompt §2.1).
func banner(ctx context.Context, o *shellFlags, conn *connection) string {
	if !o.wantsNotices(true) {
		return ""
	}
	b := sessionBanner{ShellVersion: buildinfo.Version(), Address: conn.address, ServerVersion: conn.serverVersion,
		Cluster: conn.clusterSummary}
	if conn.client != nil && b.ServerVersion == "" {
		var info struct{ Version string }
		var list struct{ Shards []bson.Raw }
		admin := conn.client.Database("admin")
		if admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info) == nil {
			b.ServerVersion = info.Version
		}
		if admin.RunCommand(ctx, bson.D{{Key: "listShards", Value: 1}}).Decode(&list) == nil {
			b.Cluster = humanize.Count(len(list.Shards), "shard")
		}
		if !o.skipStartupWarnings {
			b.Warnings = startupWarnings(ctx, admin)
		}
	}
	if conn.apiVersion != "" {
		b.ServerVersion += fmt.Sprintf(" (API Version %s)", conn.apiVersion)
	}
	return b.String()
}

// startupWarnings returns the startup warnings in the server's log, with their time. Not every user has
// the required privilege.
func startupWarnings(ctx context.Context, admin *mongo.Database) []string {
	var reply struct{ Log []string }
	if admin.RunCommand(ctx, bson.D{{Key: "getLog", Value: "startupWarnings"}}).Decode(&reply) != nil {
		return nil
	}
	var lines []string
	for _, text := range reply.Log {
		var entry struct {
			T struct {
				Date string `json:"$date"`
			} `json:"t"`
			Msg string `json:"msg"`
		}
		if json.Unmarshal([]byte(text), &entry) == nil && entry.Msg != "" {
			lines = append(lines, entry.T.Date+": "+entry.Msg)
		}
	}
	return lines
}

// sessionBanner is the text at the beginning of a session (rules/04-command-line-and-prompt §2.1): one
// line about the cluster, one about help, and the server's warnings, if there are any.
type sessionBanner struct {
	// Address is the connection string without credentials; empty when there is no connection.
	Address string
	// ServerVersion such as "8.0.10".
	ServerVersion string
	// Cluster describes the size of the cluster, such as "3 shards".
	Cluster string
	// ShellVersion such as "1.0.0".
	ShellVersion string
	// Warnings are the server's startup warnings.
	Warnings []string
}

// String returns the banner without a trailing newline.
func (b sessionBanner) String() string {
	var lines []string
	if b.Address != "" {
		lines = append(lines, b.connectionLine())
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

// connectionLine returns one line, or two where one would be too long for a terminal.
func (b sessionBanner) connectionLine() string {
	address, server := "Connected to "+b.Address, b.serverText()
	switch {
	case server == "":
		return address
	case len(address)+len(server)+3 > bannerWidth:
		return address + "\n  " + server
	}
	return fmt.Sprintf("%s (%s)", address, server)
}

func (b sessionBanner) serverText() string {
	var about []string
	if b.ServerVersion != "" {
		about = append(about, "MongoDB "+b.ServerVersion)
	}
	if b.Cluster != "" {
		about = append(about, b.Cluster)
	}
	return strings.Join(about, ", ")
}
