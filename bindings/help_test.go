package bindings_test

import (
	"strings"
	"testing"

	"shardsh/bindings"
	"shardsh/bindings/script"
	"shardsh/bindings/shelltest"
)

// Everything has a help, with and without parentheses, in the layout of
// rules/04-command-line-and-prompt §2.13.
func TestEverythingHasAHelp(t *testing.T) {
	c := shelltest.Connect(t)
	for object, heading := range map[string]string{
		"db": "Database Class", "db.orders": "Collection Class", "db.orders.find()": "Cursor Class", "sh": "Shard Class",
		"rs": "ReplicaSet Class", "mock": "MockCluster Class", "db.getMongo()": "Mongo Class", "db.getMongo().startSession()": "Session Class",
		"db.orders.initializeOrderedBulkOp()": "Bulk Class", "db.orders.explain()": "Explainable Class",
		"db.orders.getPlanCache()": "PlanCache Class", "config": "Config Class",
		"db.orders.find": "db.collection.find(query, projection, options)", "db.getMongo().getDB": "db.getMongo().getDB(name)",
		"config.set": "config.set(key, value)", "passwordPrompt": "passwordPrompt()", "load": "load(path)",
		"ObjectId": "ObjectId(hex)", "ISODate": "ISODate(text)", "NumberLong": "NumberLong(value)", "MaxKey": "MaxKey()",
	} {
		for _, call := range []string{".help", ".help()"} {
			text, failed := c.Show(object + call)
			if failed || !strings.HasPrefix(text, "\n  "+heading+":\n\n  ") {
				t.Errorf("%s%s shows %s", object, call, text)
			}
			column := script.HelpColumn
			if object == "mock" { // which mongosh does not have
				column = 20
			}
			for line := range strings.Lines(text) {
				name, explained, isRow := strings.Cut(strings.TrimPrefix(line, "    "), "  ")
				if isRow && strings.HasPrefix(line, "    ") && len(name) < column-6 &&
					strings.Index(line, strings.TrimLeft(explained, " ")) != column {
					t.Errorf("%s: not at column %d: %s", object, column, line)
				}
			}
		}
	}
	for name := range bindings.BSONForms() {
		if text, failed := c.Show(name + ".help"); failed || !strings.HasPrefix(text, "\n  "+name+"(") {
			t.Errorf("%s.help shows %s", name, text)
		}
	}
}
