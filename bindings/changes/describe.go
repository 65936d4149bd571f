// Package changes describes commands that change something, before they are sent: one line says what
// each would do, followed by a question for confirmation.
package changes

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"shardsh/balancer/humanize"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/commands"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/server"
)

// maxCommandText is the maximum number of characters of a command in a line.
const maxCommandText = 160

// batchFields maps commands with a batch of operations to the field of the batch.
var batchFields = map[string]struct{ field, one, many string }{
	"insert":    {"documents", "document", "documents"},
	"update":    {"updates", "update", "updates"},
	"delete":    {"deletes", "delete", "deletes"},
	"bulkWrite": {"ops", "write", "writes"},
}

// Describe describes a command in one line, without secrets and without control characters. Long
// commands are truncated.
func Describe(database string, command bson.Raw) string {
	text := summary(args.FirstKey(command), command)
	if text == "" {
		text = truncatedJSON(command, args.IsDriverField, maxCommandText)
	}
	return plaintext.EscapeLine(server.Redact(database + ": " + text))
}

// summary counts the operations in a write; it returns an empty string for other commands.
func summary(name string, command bson.Raw) string {
	l, known := batchFields[name]
	if !known {
		return ""
	}
	things, isArray := command.Lookup(l.field).ArrayOK()
	if !isArray {
		return ""
	}
	values, err := things.Values()
	if err != nil {
		return ""
	}
	if on, isText := command.Lookup(name).StringValueOK(); isText {
		name += " " + on
	}
	if len(values) != 1 {
		return fmt.Sprintf("%s: %d %s, %s", name, len(values), l.many, humanize.Bytes(len(things)))
	}
	one, _ := values[0].DocumentOK()
	return fmt.Sprintf("%s: 1 %s, %s: %s", name, l.one, humanize.Bytes(len(one)),
		truncatedJSON(one, nil, maxCommandText-len(name)))
}

// truncatedJSON returns the beginning of a document as JSON, without some of its fields, and the size
// of the document if it is truncated.
func truncatedJSON(doc bson.Raw, without func(field string) bool, most int) string {
	elems, err := commands.WithoutSecrets(doc).Elements()
	if err != nil {
		return "…"
	}
	var said bson.D
	for _, e := range elems {
		if without == nil || !without(e.Key()) {
			said = append(said, bson.E{Key: e.Key(), Value: e.Value()})
		}
	}
	json, err := bson.MarshalExtJSON(said, false, false)
	if err != nil {
		return "…"
	}
	text := string(json)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:max(most, 0)])) + "… (" + humanize.Bytes(len(doc)) + ")"
}
