package keyadvice

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"shardsh/balancer/humanize"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// ShardKey is a shard key, its fields in order.
type ShardKey []Field

// Field is a field of a key.
type Field struct {
	Name   string
	Hashed bool
}

// ParseShardKey parses a key such as {customer: 1, _id: "hashed"}.
func ParseShardKey(doc bson.Raw) (ShardKey, error) {
	p, err := catalog.ParseKeyPattern(doc)
	if err != nil && len(doc) > len(bson.Raw{5, 0, 0, 0, 0}) {
		return nil, errors.New("each field of a shard key must be 1 or \"hashed\", and only one field may be \"hashed\"")
	}
	if err != nil {
		return nil, err
	}
	var k ShardKey
	for i, name := range p.Fields() {
		if k.indexOf(name) >= 0 {
			return nil, errors.New("the field " + name + " occurs twice in the key")
		}
		k = append(k, Field{name, i == p.HashedField()})
	}
	return k, nil
}

// rangedKey returns a key of the fields, without a hashed field.
func rangedKey(names ...string) ShardKey {
	k := make(ShardKey, len(names))
	for i, name := range names {
		k[i].Name = name
	}
	return k
}

// Doc returns the key as a document for commands.
func (k ShardKey) Doc() bson.D {
	doc := make(bson.D, len(k))
	for i, p := range k {
		doc[i] = bson.E{Key: p.Name, Value: int32(1)}
		if p.Hashed {
			doc[i].Value = "hashed"
		}
	}
	return doc
}

var unquotedName = regexp.MustCompile(`^[A-Za-z_$][\w$]*$`)

// String returns the literal of the key in the shell.
func (k ShardKey) String() string {
	parts := make([]string, len(k))
	for i, p := range k {
		if parts[i] = p.Name; !unquotedName.MatchString(p.Name) {
			parts[i] = humanize.TextLiteral(p.Name)
		}
		if parts[i] += ": 1"; p.Hashed {
			parts[i] = strings.TrimSuffix(parts[i], "1") + `"hashed"`
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// MarshalJSON returns the key as a document.
func (k ShardKey) MarshalJSON() ([]byte, error) { return bson.MarshalExtJSON(k.Doc(), false, false) }

// Equal reports whether both keys are equal.
func (k ShardKey) Equal(o ShardKey) bool { return slices.Equal(k, o) }

// Names returns the names of the fields.
func (k ShardKey) Names() []string {
	list := make([]string, len(k))
	for i, p := range k {
		list[i] = p.Name
	}
	return list
}

// indexOf returns the index of a field; -1 when the key does not have the field.
func (k ShardKey) indexOf(name string) int {
	return slices.IndexFunc(k, func(p Field) bool { return p.Name == name })
}

func (k ShardKey) hasHashed() bool {
	return slices.ContainsFunc(k, func(p Field) bool { return p.Hashed })
}

// withFields returns the key extended by those fields that it does not contain.
func (k ShardKey) withFields(more ...Field) ShardKey {
	longer := slices.Clone(k)
	for _, p := range more {
		if longer.indexOf(p.Name) < 0 {
			longer = append(longer, p)
		}
	}
	return longer
}

// extends reports whether the other key is a proper prefix of the key.
func (k ShardKey) extends(o ShardKey) bool { return len(k) > len(o) && k[:len(o)].Equal(o) }
