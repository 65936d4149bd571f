package bindings

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// completionWait is how long completion waits for a server's list of names, and
// completionFresh how long it then uses it.
const (
	completionWait  = 300 * time.Millisecond
	completionFresh = 5 * time.Second
)

// completionLists are names from the server, kept for a while.
type completionLists map[string]completionList

type completionList struct {
	names []string
	until time.Time
}

var (
	useLine      = regexp.MustCompile(`^\s*use\s+(\S*)$`)
	showLine     = regexp.MustCompile(`^\s*show\s+(\w*)$`)
	showSubject  = regexp.MustCompile(`^\s*show\s+(?:chunks|zones)\s+(\S*)$`)
	memberTail   = regexp.MustCompile(`([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$-]*)*)\.([\w$]*)$`)
	cursorTail   = regexp.MustCompile(`\.(?:find|aggregate)\([^)]*\)(?:\.\w+\([^)]*\))*\.(\w*)$`)
	nameTail     = regexp.MustCompile(`(?:^|[^\w$.'"])([A-Za-z_$][\w$]*)$`)
	stageTail    = regexp.MustCompile(`\.aggregate\(.*\{\s*['"]?(\$\w*)$`)
	argumentTail = regexp.MustCompile(`\b(sh|db|rs)(?:\.[\w$]+)?\.(\w+)\(([^()]*)$`)
)

// Complete offers ways to finish a line: each completion is to be put behind
// head. Names that start with an underscore are offered only once one is typed.
func (s *Shell) Complete(line string) (head string, completions []string) {
	defer func() {
		if p := recover(); p != nil { // a getter of the script's that throws
			head, completions = "", nil
		}
	}()
	typed, words := s.candidates(line)
	head = line[:len(line)-len(typed)]
	for _, w := range words {
		if len(w) < len(typed) || !strings.EqualFold(w[:len(typed)], typed) {
			continue
		}
		if strings.HasPrefix(w, "_") && typed == "" {
			continue
		}
		completions = append(completions, w)
	}
	exact := slices.DeleteFunc(slices.Clone(completions), func(w string) bool { return !strings.HasPrefix(w, typed) })
	if len(exact) > 0 && !useLine.MatchString(line) {
		completions = exact
	}
	slices.SortFunc(completions, localeCompare)
	return head, slices.Compact(completions)
}

// candidates says which end of the line is being typed and what it could be.
func (s *Shell) candidates(line string) (typed string, words []string) {
	if m := useLine.FindStringSubmatch(line); m != nil {
		return m[1], s.databaseNames()
	}
	if m := showSubject.FindStringSubmatch(line); m != nil {
		return m[1], s.shardedNamespaces()
	}
	if m := showLine.FindStringSubmatch(line); m != nil {
		return m[1], showWords()
	}
	if m := stageTail.FindStringSubmatch(line); m != nil {
		return m[1], stageNames()
	}
	if typed, words, ok := s.argumentCandidates(line); ok {
		return typed, words
	}
	if m := cursorTail.FindStringSubmatch(line); m != nil {
		return m[1], s.members(s.cursorPrototype())
	}
	if m := memberTail.FindStringSubmatch(line); m != nil {
		return m[2], s.memberCandidates(m[1])
	}
	if m := nameTail.FindStringSubmatch(line); m != nil {
		return m[1], s.members(s.rt.GlobalObject())
	}
	return "", nil
}

func showWords() []string {
	var words []string
	for w := range showCommands() {
		if w != "dbs" && w != "nonGenuineMongoDBCheck" && w != "automationNotices" {
			words = append(words, w)
		}
	}
	return words
}

func stageNames() []string {
	return strings.Fields(`$addFields $bucket $bucketAuto $changeStream $collStats $count $currentOp $densify $documents $facet
		$fill $geoNear $graphLookup $group $indexStats $limit $listSessions $lookup $match $merge $out $planCacheStats $project
		$redact $replaceRoot $replaceWith $sample $search $set $setWindowFields $shardedDataDistribution $skip $sort
		$sortByCount $unionWith $unset $unwind`)
}

// argumentCandidates completes strings inside the helpers that take names.
func (s *Shell) argumentCandidates(line string) (typed string, words []string, ok bool) {
	m := argumentTail.FindStringSubmatch(line)
	if m == nil || s.db == nil {
		return "", nil, false
	}
	quote := strings.LastIndexAny(m[3], `'"`)
	if quote < 0 || strings.Count(m[3], m[3][quote:quote+1])%2 == 0 {
		return "", nil, false
	}
	typed = m[3][quote+1:]
	proto := s.classes.prototypes[map[string]string{"sh": "Shard", "db": "Database", "rs": "ReplicaSet"}[m[1]]]
	if m[1] == "sh" && proto == nil {
		s.rt.GlobalObject().Get("sh")
		proto = s.classes.prototypes["Shard"]
	}
	if m[1] == "db" && strings.Count(m[0][:strings.Index(m[0], "(")], ".") > 1 {
		proto = s.collectionPrototype()
	}
	if proto == nil {
		return "", nil, false
	}
	fn, _ := proto.Get(m[2]).(*goja.Object)
	form := s.classes.helps[fn].form
	names := strings.Split(strings.TrimSuffix(form[strings.Index(form, "(")+1:], ")"), ", ")
	i := commasAtTop(m[3][:quote])
	if i >= len(names) {
		return "", nil, false
	}
	switch names[i] {
	case "ns", "collection":
		words = s.shardedNamespaces()
	case "shard", "toShard", "to", "primaryShard":
		words = s.listed("shards", func(ctx context.Context) []string { return s.idsOf(ctx, "shards") })
	case "zone":
		words = s.listed("zones", s.zoneNames)
	case "database":
		words = s.databaseNames()
	case "index":
		path := strings.Split(m[0], ".")
		if len(path) == 3 {
			words = s.listed("indexes "+s.db.name+"."+path[1], func(ctx context.Context) []string { return s.indexNames(ctx, path[1]) })
		}
	case "name":
		if m[2] == "getCollection" {
			words = s.collectionNames(s.db)
		} else if m[2] == "getSiblingDB" || m[2] == "getSisterDB" {
			words = s.databaseNames()
		}
	}
	return typed, words, words != nil
}

// commasAtTop counts the commas that separate arguments.
func commasAtTop(text string) int {
	depth, n := 0, 0
	for _, r := range text {
		switch r {
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		case ',':
			if depth == 0 {
				n++
			}
		}
	}
	return n
}

// memberCandidates lists what a dotted path of names has.
func (s *Shell) memberCandidates(path string) []string {
	parts := strings.Split(path, ".")
	if (parts[0] == "db" || parts[0] == "sh" || parts[0] == "rs") && s.db == nil {
		return nil
	}
	if parts[0] == "db" {
		return s.databaseCandidates(parts[1:])
	}
	v := s.rt.GlobalObject().Get(parts[0])
	for _, p := range parts[1:] {
		o, ok := v.(*goja.Object)
		if !ok {
			return nil
		}
		v = o.Get(p)
	}
	if d, ok := receiver[*database](v); ok {
		return append(s.collectionNames(d), s.members(d.object)...)
	}
	if o, ok := v.(*goja.Object); ok {
		return s.members(o)
	}
	if goja.IsString(v) {
		return s.members(v.ToObject(s.rt))
	}
	return nil
}

func (s *Shell) databaseCandidates(path []string) []string {
	names := s.collectionNames(s.db)
	if len(path) == 0 {
		return append(names, s.members(s.db.object)...)
	}
	prefix := strings.Join(path, ".") + "."
	words := s.members(s.collectionPrototype())
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n, prefix); ok {
			words = append(words, rest)
		}
	}
	return words
}

// members lists the names an object and its prototypes have, but not those every
// object has.
func (s *Shell) members(o *goja.Object) []string {
	everything := s.rt.NewObject().Prototype()
	var words []string
	for p := o; p != nil && p != everything; p = p.Prototype() {
		for _, name := range p.GetOwnPropertyNames() {
			if name != "constructor" && identifierOnly(name) {
				words = append(words, name)
			}
		}
	}
	return words
}

func identifierOnly(name string) bool {
	for i, r := range name {
		if r != '_' && r != '$' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// listed gives names from the server, at most completionFresh old. A server that
// does not answer at once has none.
func (s *Shell) listed(what string, fetch func(context.Context) []string) []string {
	if l, ok := s.lists[what]; ok && time.Now().Before(l.until) {
		return l.names
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionWait)
	defer cancel()
	names := fetch(ctx)
	if s.lists == nil {
		s.lists = make(completionLists)
	}
	s.lists[what] = completionList{names: names, until: time.Now().Add(completionFresh)}
	return names
}

// quietly runs a command for completion: its failure is nobody's business.
func (s *Shell) quietly(ctx context.Context, d *database, body bson.D) bson.Raw {
	reply, err := d.on.client.Database(d.name).RunCommand(ctx, body).Raw()
	if err != nil {
		return nil
	}
	return reply
}

func fieldsOf(list bson.RawArray, field string) []string {
	values, _ := list.Values()
	var names []string
	for _, v := range values {
		doc, _ := v.DocumentOK()
		if name := textAt(doc, field); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (s *Shell) databaseNames() []string {
	if s.db == nil {
		return nil
	}
	return s.listed("dbs", func(ctx context.Context) []string {
		reply := s.quietly(ctx, s.db.on.database("admin"), command("listDatabases", bson.E{Key: "nameOnly", Value: true}))
		list, _ := reply.Lookup("databases").ArrayOK()
		return fieldsOf(list, "name")
	})
}

// collectionNames leaves out names that are no identifiers: they cannot be
// typed behind a dot.
func (s *Shell) collectionNames(d *database) []string {
	names := s.listed("collections "+d.name, func(ctx context.Context) []string {
		reply := s.quietly(ctx, d, command("listCollections", bson.E{Key: "nameOnly", Value: true}, bson.E{Key: "authorizedCollections", Value: true}))
		return fieldsOf(firstBatch(reply), "name")
	})
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return !slices.ContainsFunc(strings.Split(n, "."), identifierOnly)
	})
}

func (s *Shell) idsOf(ctx context.Context, collection string) []string {
	reply := s.quietly(ctx, s.db.on.database("config"), bson.D{
		{Key: "find", Value: collection}, {Key: "projection", Value: bson.D{{Key: "_id", Value: int32(1)}}},
		{Key: "limit", Value: int32(1000)}, {Key: "batchSize", Value: int32(1000)}, {Key: "singleBatch", Value: true},
	})
	return fieldsOf(firstBatch(reply), "_id")
}

func (s *Shell) shardedNamespaces() []string {
	if s.db == nil {
		return nil
	}
	return s.listed("namespaces", func(ctx context.Context) []string { return s.idsOf(ctx, "collections") })
}

func (s *Shell) zoneNames(ctx context.Context) []string {
	reply := s.quietly(ctx, s.db.on.database("config"), bson.D{{Key: "distinct", Value: "shards"}, {Key: "key", Value: "tags"}})
	list, _ := reply.Lookup("values").ArrayOK()
	values, _ := list.Values()
	var names []string
	for _, v := range values {
		if name, ok := v.StringValueOK(); ok {
			names = append(names, name)
		}
	}
	return names
}

func (s *Shell) indexNames(ctx context.Context, collection string) []string {
	return fieldsOf(firstBatch(s.quietly(ctx, s.db, bson.D{{Key: "listIndexes", Value: collection}, {Key: "cursor", Value: bson.D{}}})), "name")
}
