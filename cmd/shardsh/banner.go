package main

import (
	"context"
	"encoding/json"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// banner asks a live cluster for its version, size and startup warnings; what
// it does not tell is left out (spec 04 §2.1).
func banner(ctx context.Context, o commandLine, conn *connection) string {
	if !o.wantsNotices(true) {
		return ""
	}
	b := sessionBanner{ShellVersion: version(), Address: conn.address, ServerVersion: conn.serverVersion,
		Cluster: conn.cluster}
	if conn.client != nil && b.ServerVersion == "" {
		var info struct{ Version string }
		var list struct{ Shards []bson.Raw }
		admin := conn.client.Database("admin")
		if admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info) == nil {
			b.ServerVersion = info.Version
		}
		if admin.RunCommand(ctx, bson.D{{Key: "listShards", Value: 1}}).Decode(&list) == nil {
			b.Cluster = fmt.Sprintf("%d shards", len(list.Shards))
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

// startupWarnings are lines of the server's log, with their time. They need a
// right that not every user has.
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
