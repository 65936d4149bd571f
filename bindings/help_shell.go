package bindings

import (
	"shardsh/bindings/mock"
	"shardsh/bindings/script"
	"shardsh/bindings/settings"
	"slices"
)

// receiverForms returns how call forms name an object of each class.
func receiverForms() map[string]string {
	return map[string]string{
		"Shard": "sh.", "Database": "db.", "Collection": "db.collection.", "Cursor": "cursor.", "Mongo": "db.getMongo().",
		"ReplicaSet": "rs.", mock.Class: "mock.", "Bulk": "bulk.", "Explainable": "db.collection.explain().",
		settings.Class: "config.",
	}
}

// help returns the text of help().
func (s *Shell) help() string {
	rows := [][2]string{
		{"use <db>", "Makes another database db."},
		{"show dbs", "Lists the databases and their sizes."},
		{"show collections", "Lists the collections of db."},
		{"show shards, zones, chunks [ns]", "Shows the cluster's layout."},
		{"show balancer, migrations", "Shows what the balancer does."},
		{"it", "Shows the next page of the last cursor."},
		{"db.help()", "Methods of databases."},
		{"db.collection.help()", "Methods of collections."},
		{"sh.help()", "Helpers for sharded clusters."},
		{"rs.help()", "Helpers for replica sets."},
		{"mock.help()", "Time and faults of the mock cluster."},
		{"config.help()", "Settings of the shell."},
		{"sh.moveChunk.help()", "What a method does; each has such a help."},
	}
	globals := slices.Concat(s.printGlobals().List(), s.shellGlobals().List(), s.console.Globals().List(),
		s.node.FileGlobals())
	for _, g := range globals {
		if g.Help != "" && g.Name != "use" && g.Name != "show" {
			rows = append(rows, [2]string{script.CallForm(g.Name, g.Signature), g.Help})
		}
	}
	return s.JS.Out.HelpTable("Shell Help", rows)
}
