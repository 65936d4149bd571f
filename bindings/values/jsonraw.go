package values

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/bindings/rawdoc"
)

// maxRawDepth is the depth to which documents are written directly from their bytes.
const maxRawDepth = 100

// writeLazy writes a document from its bytes. It returns false if its object may have other content.
func (j *jsonWriter) writeLazy(l *lazyDoc) bool {
	if l.exposed || l.o.Prototype() != j.realm.lazyGuard.proto {
		return false
	}
	if _, ok := goja.AssertFunction(j.realm.intrinsics.objectProto.Get("toBSON")); ok {
		return false
	}
	return j.rawDocument(l.body, 0)
}

// rawDocument writes a document from its elements. For special documents, such as references and
// documents with duplicate names, it returns false before it writes anything.
func (j *jsonWriter) rawDocument(body []byte, depth int) bool {
	if depth > maxRawDepth || looksLikeDBRef(body) || !hasDistinctKeys(body) {
		return false
	}
	j.open('{')
	for len(body) > 0 {
		t, key, value, rest, ok := rawdoc.NextElement(body)
		if !ok {
			break
		}
		body = rest
		if t == bson.TypeUndefined && j.ignoreUndefined {
			continue
		}
		j.beginMember()
		j.buf = append(appendJSONString(j.buf, key), ':')
		if j.gap != "" {
			j.buf = append(j.buf, ' ')
		}
		j.rawValue(key, t, value, depth+1)
	}
	j.close('}')
	return true
}

// hasDistinctKeys reports whether the names of a document's fields are valid and distinct; it returns
// false for too many fields.
func hasDistinctKeys(body []byte) bool {
	var names [maxLazyFields][]byte
	for n := 0; len(body) > 0; n++ {
		_, key, _, rest, ok := rawdoc.NextElement(body)
		if !ok {
			break
		}
		if n == len(names) || !utf8.Valid(key) {
			return false
		}
		for _, name := range names[:n] {
			if string(name) == string(key) {
				return false
			}
		}
		names[n], body = key, rest
	}
	return true
}

func (j *jsonWriter) rawArray(value []byte, depth int) {
	j.open('[')
	body, _ := rawdoc.Elements(value)
	for n := 0; len(body) > 0; n++ {
		t, _, value, rest, ok := rawdoc.NextElement(body)
		if !ok {
			break
		}
		body = rest
		j.beginMember()
		if t == bson.TypeUndefined {
			j.raw("null")
			continue
		}
		j.rawValue(strconv.AppendInt([]byte("index "), int64(n), 10), t, value, depth+1)
	}
	j.close(']')
}

// rawValue writes a value from its bytes if that is faster than creating the value.
func (j *jsonWriter) rawValue(name []byte, t bson.Type, value []byte, depth int) {
	switch t {
	case bson.TypeInt32:
		n, _, _ := bsoncore.ReadInt32(value)
		j.rawNumber(float64(n))
		return
	case bson.TypeDouble:
		f, _, _ := bsoncore.ReadDouble(value)
		j.rawNumber(f)
		return
	case bson.TypeString:
		if text := value[4:]; len(text) > 0 && utf8.Valid(text) {
			j.buf = appendJSONString(j.buf, text[:len(text)-1])
			return
		}
	case bson.TypeBoolean:
		b, _, _ := bsoncore.ReadBoolean(value)
		j.raw(strconv.FormatBool(b))
		return
	case bson.TypeNull:
		j.raw("null")
		return
	case bson.TypeObjectID:
		j.pair("$oid", bson.ObjectID(value).Hex())
		return
	case bson.TypeDateTime:
		if ms, _, _ := bsoncore.ReadDateTime(value); ms >= -maxDateMillis && ms <= maxDateMillis {
			j.dateAt(ms)
			return
		}
	case bson.TypeArray:
		if depth <= maxRawDepth {
			j.rawArray(value, depth)
			return
		}
	case bson.TypeEmbeddedDocument:
		if body, ok := rawdoc.Elements(value); ok && j.rawDocument(body, depth) {
			return
		}
	}
	j.nestedValue(string(name), j.realm.decodeLazy(t, value, depth))
}

// rawNumber writes a number that is a plain JavaScript number.
func (j *jsonWriter) rawNumber(f float64) {
	if !j.canonical && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		j.buf = strconv.AppendInt(j.buf, int64(f), 10)
		return
	}
	j.number(f, numberAny)
}
