package placement

import (
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// collectionText returns the expression for a collection in the shell.
func collectionText(ns string) string {
	database, name, _ := strings.Cut(ns, ".")
	return fmt.Sprintf("db.getSiblingDB(%s).getCollection(%s)", humanize.TextLiteral(database), humanize.TextLiteral(name))
}

// commandText returns the call of a command on the database of a collection.
func commandText(ns, text string) string {
	return fmt.Sprintf("db.getSiblingDB(%s).runCommand(%s)", humanize.TextLiteral(catalog.DatabaseOf(ns)), text)
}

func collName(ns string) string {
	_, name, _ := strings.Cut(ns, ".")
	return humanize.TextLiteral(name)
}

// onShardComment returns a comment which says that the following commands have to be run on the shard
// itself.
func onShardComment(id catalog.ShardID, host string) string {
	return fmt.Sprintf("// on the primary of %s (%s), from 8.0 on with the role directShardOperations:", id, host)
}

// CommandsForLone returns how to restore lone documents that have been saved in a file; an empty file means
// that they have not been saved yet.
func CommandsForLone(ns string, documents []bson.Raw, file string) []string {
	switch {
	case file != "":
		each := fmt.Sprintf(`fs.readFileSync(%s, "utf8").trim().split("\n")`, humanize.TextLiteral(file))
		return []string{fmt.Sprintf("%s.forEach(l => %s.insertOne(EJSON.parse(l)))", each, collectionText(ns))}
	case len(documents) == 1:
		return []string{collectionText(ns) + ".insertOne(" + humanize.Literal(documents[0]) + ")"}
	}
	return []string{"// enter it again with --export DIR: the documents are saved there, and it says how to insert them"}
}

// CommandsForOrphans says how orphans are deleted for which nothing waits: cleanupOrphaned only waits
// for range deletions from 4.4 on.
func CommandsForOrphans(c *Collection, id catalog.ShardID, host string, ids []bson.RawValue, file string) []string {
	values := make([]string, len(ids))
	for i, v := range ids {
		values[i] = humanize.ValueLiteral(v)
	}
	list := "[" + strings.Join(values, ", ") + "]"
	if file != "" {
		list = fmt.Sprintf(`fs.readFileSync(%s, "utf8").trim().split("\n").map(l => EJSON.parse(l)._id)`,
			humanize.TextLiteral(file))
	}
	return []string{onShardComment(id, host), fmt.Sprintf("%s.deleteMany({_id: {$in: %s}}%s)",
		collectionText(c.Namespace), list, c.collationOption())}
}

// CommandsForDuplicateID says how one of two documents with an _id gets another one, or goes.
func CommandsForDuplicateID(c *Collection, docs []bson.Raw) []string {
	lines := []string{"// keep one of them; the other gets another _id, or goes:"}
	for _, doc := range docs {
		lines = append(lines, collectionText(c.Namespace)+".deleteOne("+humanize.Literal(DocumentQuery(c.Pattern, doc))+
			c.collationOption()+")")
	}
	return lines
}

// collationOption is the option with which a command selects only exactly equal texts, whatever the collation of
// the collection; empty if it has none.
func (c *Collection) collationOption() string {
	if c.Collation() == nil {
		return ""
	}
	return `, {collation: {locale: "simple"}}`
}

// DocumentQuery selects a document by its shard key and _id, so that the router asks one shard.
func DocumentQuery(p catalog.KeyPattern, doc bson.Raw) bson.Raw {
	d := bson.D{}
	for _, f := range append(p.Fields(), "_id") {
		if slices.ContainsFunc(d, func(e bson.E) bool { return e.Key == f }) {
			continue
		}
		v, err := doc.LookupErr(strings.Split(f, ".")...)
		if err != nil {
			d = append(d, bson.E{Key: f, Value: nil})
			continue
		}
		d = append(d, bson.E{Key: f, Value: bson.D{{Key: "$eq", Value: v}}})
	}
	raw, err := bson.Marshal(d)
	if err != nil {
		return doc
	}
	return raw
}

// CommandsForUnplaced returns how to repair documents whose key is in no chunk.
func CommandsForUnplaced() []string {
	return []string{"// mend the chunks first; a document with an array in its shard key has to be rewritten"}
}

// CommandsForDuplicateKey returns how to change the value of one of two documents.
func CommandsForDuplicateKey(ns string, ids []bson.RawValue) []string {
	lines := []string{"// keep one of them; the other gets another value, or goes:"}
	for _, id := range ids {
		lines = append(lines, collectionText(ns)+".find({_id: "+humanize.ValueLiteral(id)+"})")
	}
	return lines
}

// CommandsForCount returns the commands that make shards recount their documents.
func CommandsForCount(ns string) []string {
	return []string{commandText(ns, "{validate: "+collName(ns)+"}")}
}

func commandsForChunks(c catalog.Collection) []string {
	return []string{
		"// no command of a router mends that: stop the balancer, and save the config database",
		"sh.stopBalancer()",
		"// then restore config.chunks of " + c.Namespace + " from a backup, or ask MongoDB's support",
	}
}

// commandsForZone returns the commands that remove a range of a zone. The router refuses to remove a range
// that it would not assign.
func commandsForZone(c catalog.Collection, doc bson.Raw) []string {
	z, err := catalog.ParseZone(c.Pattern, doc)
	if err != nil || !z.Min.Less(z.Max) {
		return []string{
			"// the router's commands refuse such a range, so its document goes:",
			`db.getSiblingDB("config").tags.deleteOne({_id: ` + humanize.ValueLiteral(doc.Lookup("_id")) + "})",
		}
	}
	lower, _ := doc.Lookup("min").DocumentOK()
	upper, _ := doc.Lookup("max").DocumentOK()
	ns := humanize.TextLiteral(c.Namespace)
	lines := []string{
		fmt.Sprintf("sh.removeRangeFromZone(%s, %s, %s)", ns, humanize.Literal(lower), humanize.Literal(upper)),
	}
	if !endsBeforeGlobalMax(c.Pattern, z.Max) {
		return lines
	}
	return append(lines, fmt.Sprintf("sh.updateZoneKeyRange(%s, %s, %s, %s)", ns,
		humanize.Literal(c.Pattern.Bound(z.Min)), humanize.Literal(c.Pattern.Bound(c.Pattern.GlobalMax())),
		humanize.TextLiteral(z.Zone)))
}

func commandsForMisplaced(ns string, h Holding) []string {
	return []string{
		"// save it, for it may have documents that are nowhere else:",
		fmt.Sprintf("// mongodump --host %s --db %s --collection %s", h.Host, strings.SplitN(ns, ".", 2)[0], collName(ns)),
		onShardComment(h.Shard, h.Host),
		collectionText(ns) + ".drop()",
	}
}

func commandsForAbsent(ns string) []string {
	return []string{
		"// the shard has lost it: restore its documents from a backup. An empty one is made by",
		collectionText(ns) + ".createIndex({_id: 1})",
	}
}

// collModOptions are the options that collMod can change, with the values that mean the option is absent.
var collModOptions = map[string]string{
	"validator":                    "{}",
	"validationLevel":              `"strict"`,
	"validationAction":             `"error"`,
	"changeStreamPreAndPostImages": "{enabled: false}",
	"expireAfterSeconds":           `"off"`,
}

// commandsForOptions returns the commands that set the most common options on all shards.
func commandsForOptions(ns string, wanted bson.Raw, others []variant) []string {
	var parts []string
	fixed := false
	names := catalog.FieldNames(wanted)
	for _, v := range others {
		names = append(names, catalog.FieldNames(v.value)...)
	}
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		value, err := wanted.LookupErr(n)
		absent := collModOptions[n]
		switch {
		case !slices.ContainsFunc(others, func(v variant) bool { return !v.value.Lookup(n).Equal(wanted.Lookup(n)) }):
		case absent == "":
			fixed = true
		case err == nil:
			parts = append(parts, n+": "+humanize.ValueLiteral(value))
		default:
			parts = append(parts, n+": "+absent)
		}
	}
	var lines []string
	if len(parts) > 0 {
		lines = append(lines, commandText(ns, "{collMod: "+collName(ns)+", "+strings.Join(parts, ", ")+"}"))
	}
	if fixed || len(parts) == 0 {
		lines = append(lines, "// other options can't be changed: sh.reshardCollection rewrites the collection")
	}
	return lines
}

// commandsForIndex returns the command that creates an index on the shards that don't have it; on others
// it does nothing.
func commandsForIndex(ns string, spec bson.Raw) []string {
	return []string{commandText(ns, "{createIndexes: "+collName(ns)+", indexes: ["+humanize.Literal(spec)+"]}")}
}

func commandsForReplacedIndex(ns, name string, wanted bson.Raw) []string {
	return append(
		[]string{collectionText(ns) + ".dropIndex(" + humanize.TextLiteral(name) + ")"},
		commandsForIndex(ns, wanted)...)
}

func commandsForReported() []string {
	return []string{"// see db.adminCommand({checkMetadataConsistency: 1}), and MongoDB's manual about it"}
}
