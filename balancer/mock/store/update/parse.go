package update

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// change is one modifier at one path.
type change struct {
	text     string
	path     []string
	mod      modifier
	onInsert bool
	from     []string // the source of $rename
}

// modifier computes the new value at a path from the old one; a missing value stands for no field.
type modifier struct {
	createsPath    bool // creates the path if it does not exist
	ignoresBadPath bool // no error for a path that leads through a non-document
	onlyAppends    bool // only appends to an array
	apply          func(old value.Value, u *applyState) (value.Value, error)
}

// applyState is the state of applying an update to one document.
type applyState struct {
	doc      bson.Raw
	update   *Update
	isInsert bool
	meter    *quota.Meter
	// position is the index of the element that the positional operator refers to.
	position int
}

// idText returns the document's _id for error messages.
func (s *applyState) idText() string {
	return "{_id: " + document.Text(document.Lookup(s.doc, "_id")) + "}"
}

// modifierMakers compile the argument of an operator for one path.
var modifierMakers = map[string]func(path string, arg value.Value) (modifier, error){
	"$set": makeSet, "$setOnInsert": makeSet, "$unset": makeUnset,
	"$inc": makeInc, "$mul": makeMul, "$min": makeMin, "$max": makeMax, "$bit": makeBit,
	"$currentDate": makeCurrentDate,
	"$push":        makePush, "$addToSet": makeAddToSet, "$pop": makePop, "$pullAll": makePullAll,
}

func (u *Update) compileOperators(doc []byte) error {
	u.changes = []change{}
	for opName, arg := range document.Fields(doc) {
		op := string(opName)
		maker, ok := modifierMakers[op]
		if op == "$pull" {
			maker, ok = u.makePull, true
		}
		if !ok && op != "$rename" {
			return servererr.FailedToParse(
				"Unknown modifier: %s. Expected a valid update modifier or pipeline-style update specified "+
					"as an array", op)
		}
		if !value.IsObject(arg) {
			return servererr.FailedToParse(
				"Modifiers operate on fields but we found type %s instead. For example: {$mod: {<field>: "+
					"...}} not {%s: %s}",
				value.TypeName(arg), op, arg)
		}
		for name, v := range document.Fields(arg.Value) {
			ch := change{text: string(name), onInsert: op == "$setOnInsert"}
			var err error
			if ch.path, err = parseUpdatePath(ch.text); err != nil {
				return err
			}
			if op == "$rename" {
				var renamed change
				if renamed, err = makeRename(ch, v); err != nil {
					return cmp.Or(u.checkRenameSource(ch), err)
				}
				ch = renamed
			} else {
				ch.mod, err = maker(ch.text, v)
			}
			if err != nil {
				return err
			}
			u.changes = append(u.changes, ch)
		}
	}
	slices.SortStableFunc(u.changes, func(a, b change) int { return slices.CompareFunc(a.path, b.path, comparePathParts) })
	if err := u.checkConflicts(); err != nil {
		return err
	}
	return u.checkArrayFilters()
}

// comparePathParts compares path components in the server's order of application: numbers by value, then
// names bytewise.
func comparePathParts(a, b string) int {
	m, aNumeric := paths.ParseArrayIndex(a)
	n, bNumeric := paths.ParseArrayIndex(b)
	if aNumeric && bNumeric {
		return m - n
	}
	return strings.Compare(a, b)
}

// parseUpdatePath splits a path. It rejects empty components (56), $-prefixed names (52) and misplaced
// positional operators (2).
func parseUpdatePath(text string) ([]string, error) {
	if text == "" {
		return nil, servererr.New(mongoerr.EmptyFieldName, "An empty update path is not valid.")
	}
	path := paths.Split(text)
	if len(path) > expr.MaxDepth {
		return nil, servererr.New(mongoerr.Overflow, "The update path has %d parts, more than the maximum depth of %d",
			len(path), expr.MaxDepth)
	}
	positional := 0
	for i, part := range path {
		switch {
		case part == "":
			return nil, servererr.New(mongoerr.EmptyFieldName,
				"The update path '%s' contains an empty field name, which is not allowed.", text)
		case part == "$":
			positional++
			if i == 0 {
				return nil, servererr.BadValue("Cannot have positional (i.e. '$') element in the first position in path '%s'", text)
			}
			if positional > 1 {
				return nil, servererr.BadValue("Too many positional (i.e. '$') elements found in path '%s'", text)
			}
		case isArrayPlaceholder(part):
			if i == 0 {
				return nil,
					servererr.BadValue("Cannot have array filter identifier (i.e. '$[<id>]') element in the first position "+
						"in path '%s'", text)
			}
		case part[0] == '$' && !document.IsReference(part):
			return nil, dollarPrefixedErr(part, text)
		}
	}
	return path, nil
}

func isArrayPlaceholder(part string) bool {
	return strings.HasPrefix(part, "$[") && strings.HasSuffix(part, "]")
}

// checkRenameSource rejects a $rename source that conflicts with an earlier change (40). The server
// checks it before the target.
func (u *Update) checkRenameSource(ch change) error {
	before := &Update{changes: append(slices.Clone(u.changes), ch)}
	return before.checkConflicts()
}

// checkConflicts rejects two changes with overlapping paths (40).
func (u *Update) checkConflicts() error {
	type touched struct {
		text string
		path []string
	}
	var all []touched
	for _, ch := range u.changes {
		all = append(all, touched{ch.text, ch.path})
		if ch.from != nil {
			all = append(all, touched{strings.Join(ch.from, "."), ch.from})
		}
	}
	slices.SortStableFunc(all, func(a, b touched) int { return slices.CompareFunc(a.path, b.path, comparePathParts) })
	root := &pathChanges{}
	for _, t := range all {
		if n, ok := root.addPath(t.path); !ok {
			return conflictErr(t.text, strings.Join(t.path[:n], "."))
		}
	}
	return nil
}

// pathChanges is a node of the tree of changed paths.
type pathChanges struct {
	changed         bool // the path itself is changed
	hasNames        bool // the next components are names
	hasPlaceholders bool // the next components stand for elements
	children        map[string]*pathChanges
}

// addPath adds a path. It returns false if the path conflicts with another one after n components.
func (p *pathChanges) addPath(path []string) (n int, ok bool) {
	for n, part := range path {
		placeholder := isArrayPlaceholder(part)
		if p.changed || n > 0 && (placeholder && p.hasNames || !placeholder && p.hasPlaceholders) {
			return n, false
		}
		p.hasNames, p.hasPlaceholders = p.hasNames || !placeholder, p.hasPlaceholders || placeholder
		if p.children == nil {
			p.children = map[string]*pathChanges{}
		}
		next := p.children[part]
		if next == nil {
			next = &pathChanges{}
			p.children[part] = next
		}
		p = next
	}
	if p.changed || p.children != nil {
		return len(path), false
	}
	p.changed = true
	return 0, true
}

func conflictErr(path, at string) error {
	return servererr.New(mongoerr.ConflictingUpdateOperators, "Updating the path '%s' would create a conflict at '%s'",
		path,
		at)
}

func (u *Update) compileArrayFilters() error {
	u.filters = map[string]*filter.Filter{}
	for _, raw := range u.options.ArrayFilters {
		f, err := filter.CompileWith(raw, filter.Options{
			Let: u.options.Let, Now: u.options.Now, Language: u.options.Language, InUpdate: true})
		if err != nil {
			return mongoerr.Wrap(err, "Error parsing array filter")
		}
		name, err := arrayFilterName(raw)
		if err != nil {
			return err
		}
		if _, dup := u.filters[name]; dup {
			return servererr.FailedToParse("Found multiple array filters with the same top-level field name %s", name)
		}
		u.filters[name] = f
	}
	return nil
}

var identifierPattern = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

// arrayFilterName returns the identifier with which all fields of an array filter begin. There must be
// exactly one.
func arrayFilterName(raw bson.Raw) (string, error) {
	found := ""
	var collect func(doc []byte) error
	collect = func(doc []byte) error {
		for n, v := range document.Fields(doc) {
			name := string(n)
			if name == "$and" || name == "$or" || name == "$nor" {
				for _, clause := range document.Fields(v.Value) {
					if err := collect(clause.Value); err != nil {
						return err
					}
				}
				continue
			}
			name, _, _ = strings.Cut(name, ".")
			if found != "" && found != name {
				return servererr.FailedToParse(
					"Error parsing array filter :: caused by :: Expected a single top-level field name, found "+
						"'%s' and '%s'", found, name)
			}
			found = name
		}
		return nil
	}
	if err := collect(raw); err != nil {
		return "", err
	}
	if found == "" {
		return "", servererr.FailedToParse("Cannot use an expression without a top-level field name in arrayFilters")
	}
	if !identifierPattern.MatchString(found) {
		return "", servererr.BadValue(
			"Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric "+
				"string beginning with a lowercase letter, found '%s'", found)
	}
	return found, nil
}

// checkArrayFilters checks that every identifier has a filter (2) and that every filter is used (9).
func (u *Update) checkArrayFilters() error {
	used := map[string]bool{}
	for _, ch := range u.changes {
		for _, part := range ch.path {
			if !isArrayPlaceholder(part) || part == "$[]" {
				continue
			}
			name := part[2 : len(part)-1]
			if u.filters[name] == nil {
				return servererr.BadValue("No array filter found for identifier '%s' in path '%s'", name, ch.text)
			}
			used[name] = true
		}
	}
	for name := range u.filters {
		if !used[name] {
			return servererr.FailedToParse("The array filter for identifier '%s' was not used in the update", name)
		}
	}
	return nil
}

// OperatorNames returns the sorted names of the update operators.
func OperatorNames() []string {
	return slices.Sorted(slices.Values(slices.AppendSeq([]string{"$pull", "$rename"}, maps.Keys(modifierMakers))))
}
