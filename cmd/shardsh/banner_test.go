package main

import (
	"strings"
	"testing"
)

func TestBanner(t *testing.T) {
	const help = "shardsh 1.2.0: type help, sh.help() for sharding, .exit to leave"
	for _, tt := range []struct {
		name string
		b    sessionBanner
		want string
	}{
		{"not connected", sessionBanner{ShellVersion: "1.2.0"}, help},
		{"connected", sessionBanner{Address: "mongodb://h:1/", ServerVersion: "8.0.10", Cluster: "3 shards",
			ShellVersion: "1.2.0"},
			"Connected to mongodb://h:1/ (MongoDB 8.0.10, 3 shards)\n" + help},
		{"a long address", sessionBanner{Address: "mongodb://h:1/?directConnection=true&serverSelectionTimeoutMS=2000",
			ServerVersion: "8.0.10", Cluster: "3 shards", ShellVersion: "1.2.0"},
			"Connected to mongodb://h:1/?directConnection=true&serverSelectionTimeoutMS=2000\n  MongoDB 8.0.10, 3 shards\n" +
				help},
		{"little known", sessionBanner{Address: "mongodb://h:1/", ShellVersion: "1.2.0"},
			"Connected to mongodb://h:1/\n" + help},
		{"warnings", sessionBanner{ShellVersion: "1.2.0", Warnings: []string{"access control is off"}},
			help + "\n------\n   access control is off\n------"},
		{"no version", sessionBanner{}, strings.Replace(help, " 1.2.0", "", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.b.String(); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
