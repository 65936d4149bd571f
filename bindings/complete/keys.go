package complete

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/mock/commands"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// keyNames returns the possible keys at the cursor in an argument of one of the shell's functions: an
// option of a helper, a command or its fields, the fields of a shard key in a bound. It leaves out keys
// that already exist.
func (s *Completer) keyNames(t *inputContext) []string {
	in := t.innermost()
	if in == nil || in.bracket != '{' || in.key != "" {
		return nil
	}
	callee, i, within, ok := t.call()
	if !ok || len(within) == 0 || within[0].bracket != '{' {
		return nil
	}
	help, on, ok := s.calledFunction(callee)
	if !ok {
		return nil
	}
	there := keysIn(t.text[in.offset+1 : t.wordStart])
	names := slices.Clone(s.keysOf(t, help, on, i, within, there))
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(there, name) })
}

func (s *Completer) keysOf(
	t *inputContext,
	help script.Help,
	on resolved,
	i int,
	within []openBracket,
	there []string,
) []string {
	parameter := help.Parameter(i)
	switch {
	case parameter == "command" && len(within) == 1:
		return s.commandKeys(help, on, there)
	case parameter == "command":
		outer := t.text[within[0].offset+1 : within[1].offset]
		return s.boundKeys(within[0].key, stringAfter(outer, ":"))
	case len(within) > 1:
		return nil
	case help.Class == "Shard" && takesShardKey(parameter):
		return s.boundKeys(parameter, s.namespaceArgument(t, within[0].offset))
	}
	return expandCommandFields(script.FieldNames(help.Signature, i),
		append(script.ParameterNames(help.Signature), "find", "bounds"))
}

// expandCommandFields replaces @command by the names of the command's fields, except those that are
// separate arguments.
func expandCommandFields(names, arguments []string) []string {
	var list []string
	for _, name := range names {
		command, ok := strings.CutPrefix(name, "@")
		if !ok {
			list = append(list, name)
			continue
		}
		for _, field := range commandFields(command) {
			if !slices.Contains(arguments, field) {
				list = append(list, field)
			}
		}
	}
	return list
}

// commandKeys returns the names of commands for the first key, and the fields of the command for other
// keys.
func (s *Completer) commandKeys(help script.Help, on resolved, existing []string) []string {
	if len(existing) > 0 {
		return append(commandFields(existing[0]), "comment", "maxTimeMS", "writeConcern", "readConcern")
	}
	return s.commandNames(help, on)
}

// commandNames returns the commands of a mongos. It returns those of the admin database only if the
// function needs them.
func (s *Completer) commandNames(help script.Help, on resolved) []string {
	d, _ := s.shell.NamespaceOf(on.value)
	admin := d == nil || d.Name == "admin" || help.Method() == "adminCommand"
	var names []string
	for _, cmd := range commands.All() {
		if !cmd.MembersOnly && !cmd.MockOnly && (admin || !cmd.AdminOnly) {
			names = append(names, cmd.Name)
		}
	}
	return names
}

// commandFields returns the fields of a command that clients send.
func commandFields(name string) []string {
	cmd := commands.ByName()[name]
	if cmd == nil {
		return nil
	}
	var names []string
	for _, f := range cmd.Fields {
		if field := f.Name(); !slices.Contains(cmd.Names(), field) && !strings.HasPrefix(field, "$") && !isInternal(field) {
			names = append(names, field)
		}
	}
	return names
}

// isInternal reports whether only servers send a field, to other servers.
func isInternal(field string) bool {
	return slices.Contains(strings.Fields("shardVersion databaseVersion isTimeseriesNamespace encryptionInformation "+
		"runtimeConstants stmtId stmtIds sampleId mirrored term"), field)
}

// takesShardKey reports whether a parameter, or a field of a command, is a shard key.
func takesShardKey(name string) bool {
	return slices.Contains([]string{"min", "max", "middle", "query", "find", "key", "bounds"}, name)
}

// boundKeys returns the fields of a collection's shard key.
func (s *Completer) boundKeys(parameter, ns string) []string {
	d := s.shell.Current()
	if d == nil || ns == "" || !takesShardKey(parameter) {
		return nil
	}
	return s.lists.get(d.Conn.Client, "shard key of "+ns, func(ctx context.Context, client *mongo.Client) []string {
		docs, err := server.FirstBatch(server.RunOrNil(ctx, client, "config", bson.D{
			{Key: "find", Value: "collections"}, {Key: "filter", Value: bson.D{{Key: "_id", Value: ns}}},
			{Key: "projection", Value: bson.D{{Key: "key", Value: int32(1)}}}, server.LimitField(1),
		})).Values()
		if err != nil {
			return nil
		}
		names := []string{}
		for _, doc := range docs {
			key, _ := doc.Document().Lookup("key").DocumentOK()
			elements, _ := key.Elements()
			for _, e := range elements {
				names = append(names, e.Key())
			}
		}
		return names
	})
}

// namespaceArgument returns the namespace in the first argument of the call whose object opens at index at: a
// string, or a collection.
func (s *Completer) namespaceArgument(t *inputContext, at int) string {
	for i := len(t.openBrackets) - 1; i >= 0; i-- {
		if t.openBrackets[i].bracket != '(' {
			continue
		}
		text := t.text[t.openBrackets[i].offset+1 : at]
		if ns := stringAfter(text, ""); ns != "" {
			return ns
		}
		expression, _, _ := strings.Cut(text, ",")
		if d, name := s.shell.NamespaceOf(s.resolve(strings.TrimSpace(expression)).value); name != "" {
			return d.Name + "." + name
		}
		return ""
	}
	return ""
}

// stringAfter returns the string that follows a mark; empty when something else follows.
func stringAfter(text, mark string) string {
	_, text, found := strings.Cut(text, mark)
	text = strings.TrimLeft(text, " \t\n")
	if !found || text == "" || !strings.ContainsRune("\"'`", rune(text[0])) {
		return ""
	}
	end := closingQuote(text, 0)
	if end < 0 {
		return ""
	}
	return text[1:end]
}

// keysIn returns the keys of an incomplete object literal.
func keysIn(text string) []string {
	var keys []string
	depth, last := 0, ""
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\'' || c == '`':
			end := closingQuote(text, i)
			if end < 0 {
				return keys
			}
			last, i = text[i+1:end], end
		case c == '{' || c == '[' || c == '(':
			depth++
		case c == '}' || c == ']' || c == ')':
			depth--
		case c == ':' && depth == 0 && last != "":
			keys, last = append(keys, last), ""
		case c == ',' && depth == 0:
			last = ""
		case isWordByte(c):
			start := i
			for i+1 < len(text) && isWordByte(text[i+1]) {
				i++
			}
			last = text[start : i+1]
		}
	}
	return keys
}
