package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// The functions below describe what has changed in the documents of config (rules/03-catalog-and-keys
// §3).

// HasChunksByNamespace reports whether chunks contain the namespace and the epoch of their collection
// instead of its UUID. The metadata of these releases have no timestamps, and a dropped collection
// stays in config.collections, marked as dropped.
func (r Release) HasChunksByNamespace() bool { return !r.FCVAtLeast(Release50) }

// HasTextChunkIDs reports whether the _id of a chunk consists of its namespace and its lower bound, and
// the _id of a zone range likewise. Newer releases use other _ids because of refined shard keys
// (SERVER-42299).
func (r Release) HasTextChunkIDs() bool { return !r.FCVAtLeast(Release44) }

// KeepsHistory reports whether chunks contain the history of their shards.
func (r Release) KeepsHistory() bool { return r.FCVAtLeast(Release40) }

// MarksPartitioned reports whether documents of config.databases have the field partitioned.
func (r Release) MarksPartitioned() bool { return !r.FCVAtLeast(Release60) }

// HasDatabaseVersions reports whether databases have a version.
func (r Release) HasDatabaseVersions() bool { return r.FCVAtLeast(Release42) }

// TextChunkID returns the _id of a chunk in releases that name chunks: its namespace, and the fields of
// its lower bound in the format of the server's shell of that time (SERVER-42106).
func (r Release) TextChunkID(ns string, lower bson.Raw) string {
	b := &strings.Builder{}
	b.WriteString(ns + "-")
	for e, rest, ok := keyorder.Next(keyorder.Body(lower)); ok; e, rest, ok = keyorder.Next(rest) {
		b.Write(e.Name)
		b.WriteByte('_')
		r.writeIDValue(b, e.Value)
	}
	return b.String()
}

// writeIDValue writes a value in the format of chunk names.
func (r Release) writeIDValue(b *strings.Builder, v bson.RawValue) {
	switch v.Type {
	case bson.TypeMinKey:
		b.WriteString("MinKey")
	case bson.TypeMaxKey:
		b.WriteString("MaxKey")
	case bson.TypeNull:
		b.WriteString("null")
	case bson.TypeDouble:
		b.WriteString(mongoerr.DoubleText(v.Double()))
	case bson.TypeString, bson.TypeSymbol:
		text, ok := v.StringValueOK()
		if !ok {
			text, _ = v.SymbolOK()
		}
		b.WriteString(`"` + text + `"`)
	case bson.TypeObjectID:
		fmt.Fprintf(b, "ObjectId('%s')", v.ObjectID().Hex())
	case bson.TypeDateTime:
		fmt.Fprintf(b, "new Date(%d)", v.DateTime())
	case bson.TypeTimestamp:
		t, i := v.Timestamp()
		fmt.Fprintf(b, "Timestamp(%d, %d)", t, i)
	case bson.TypeBinary:
		subtype, data := v.Binary()
		b.WriteString(r.binaryIDText(subtype, data))
	case bson.TypeEmbeddedDocument:
		b.WriteString("{ ")
		for e, rest, ok := keyorder.Next(keyorder.Body(v.Value)); ok; {
			b.Write(e.Name)
			b.WriteString(": ")
			r.writeIDValue(b, e.Value)
			if e, rest, ok = keyorder.Next(rest); ok {
				b.WriteString(", ")
			}
		}
		b.WriteString(" }")
	default:
		b.WriteString(plainIDText(v))
	}
}

// binaryIDText formats binary data. Since 3.6, UUIDs have a separate format (SERVER-47745).
func (r Release) binaryIDText(subtype byte, data []byte) string {
	if subtype == bson.TypeBinaryUUID && len(data) == 16 && r.FCVAtLeast(Release36) {
		return fmt.Sprintf(`UUID("%x-%x-%x-%x-%x")`, data[:4], data[4:6], data[6:8], data[8:10], data[10:])
	}
	return fmt.Sprintf("BinData(%d, %X)", subtype, data)
}

func plainIDText(v bson.RawValue) string {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64:
		return strconv.FormatInt(v.AsInt64(), 10)
	case bson.TypeBoolean:
		return strconv.FormatBool(v.Boolean())
	case bson.TypeDecimal128:
		return v.Decimal128().String()
	}
	return v.String()
}

// droppedEntry is the entry of a dropped collection in config.collections.
type droppedEntry struct {
	Namespace string        `bson:"_id"`
	Epoch     bson.ObjectID `bson:"lastmodEpoch"` // zero
	LastMod   time.Time     `bson:"lastmod"`
	Dropped   bool          `bson:"dropped"`
}

// DroppedEntry returns the entry of config.collections that releases before 5.0 keep for a dropped
// collection.
func DroppedEntry(ns string, when time.Time) (bson.Raw, error) {
	return bson.Marshal(droppedEntry{Namespace: ns, LastMod: when, Dropped: true})
}
