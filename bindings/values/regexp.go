package values

import (
	"slices"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// bsonRegExp is a regular expression that is represented as BSON, not as a RegExp.
type bsonRegExp struct {
	readOnlyFields
	realm            *Realm
	pattern, options string
}

func (*bsonRegExp) kind() kind          { return kindRegExp }
func (*bsonRegExp) Keys() []string      { return []string{"pattern", "options"} }
func (r *bsonRegExp) Has(k string) bool { return hasField(r, k) }

func (r *bsonRegExp) Get(key string) goja.Value {
	switch key {
	case "pattern":
		return r.realm.rt.ToValue(r.pattern)
	case "options":
		return r.realm.rt.ToValue(r.options)
	}
	return nil
}

func (r *bsonRegExp) encode(e *encoder) { e.regex(r.pattern, r.options) }

func (r *bsonRegExp) inspectText(in *inspector) string {
	return "BSONRegExp(" + in.nested(r.realm.rt.ToValue(r.pattern)) + ", " + in.nested(r.realm.rt.ToValue(r.options)) + ")"
}

func (r *bsonRegExp) writeEJSON(j *jsonWriter) { j.regex(r.pattern, r.options) }

func regExpClass() classSpec {
	return classSpec{
		name: "BSONRegExp", bsontype: "BSONRegExp", parent: noParent,
		construct: func(w *Realm, args []goja.Value) payload {
			pattern, options := arg(args, 0), arg(args, 1)
			callee{w, "BSONRegExp"}.checkTypes(args, []string{"string"})
			r := &bsonRegExp{realm: w, pattern: pattern.String()}
			if !isMissing(options) {
				r.options = sortedOptions(options.String())
			}
			for _, c := range r.options {
				if !strings.ContainsRune("imxlsu", c) {
					w.Errors.throwBSON("The regular expression option [" + string(c) + "] is not supported")
				}
			}
			if strings.ContainsRune(r.pattern, 0) {
				w.Errors.throwBSON("BSON Regex patterns cannot contain null bytes, found: " + quoteJSON(r.pattern))
			}
			return r
		},
		methods: func(w *Realm) []method {
			return []method{
				newMethod(w, "toString", func(r *bsonRegExp, _ []goja.Value) goja.Value {
					return w.rt.ToValue("/" + r.pattern + "/" + r.options)
				}),
			}
		},
	}
}

func sortedOptions(s string) string {
	letters := []rune(s)
	slices.Sort(letters)
	return string(letters)
}

// bsonOptions converts JavaScript's flags. It drops the flags that the server does not know (g, y, d,
// v): they define how to search, not what matches.
func bsonOptions(flags string) string {
	return sortedOptions(strings.Map(func(r rune) rune {
		if strings.ContainsRune("imsu", r) {
			return r
		}
		return -1
	}, flags))
}

// regexToJS returns a RegExp, or a BSONRegExp if JavaScript does not support the pattern or one of the
// options.
func (w *Realm) regexToJS(pattern, options string) goja.Value {
	keep := func() goja.Value {
		return w.wrap(&bsonRegExp{realm: w, pattern: pattern, options: options})
	}
	if strings.Trim(options, "imsu") != "" || sortedOptions(options) != options {
		return keep()
	}
	o, err := w.intrinsics.regexp(nil, w.rt.ToValue(pattern), w.rt.ToValue(options))
	if err != nil {
		return keep()
	}
	if p, f := sourceAndFlags(o); p != pattern || bsonOptions(f) != options {
		return keep()
	}
	return o
}

func sourceAndFlags(o *goja.Object) (source, flags string) {
	return o.Get("source").String(), o.Get("flags").String()
}

func (e *encoder) regex(pattern, options string) {
	e.buf = bsoncore.AppendRegex(e.buf, pattern, options)
	e.typ = bson.TypeRegex
}

func (j *jsonWriter) regex(pattern, options string) {
	if j.legacy {
		j.open('{')
		j.key("$regex")
		j.text(pattern)
		j.key("$options")
		j.text(options)
		j.close('}')
		return
	}
	j.open('{')
	j.key("$regularExpression")
	j.open('{')
	j.key("pattern")
	j.text(pattern)
	j.key("options")
	j.text(options)
	j.close('}')
	j.close('}')
}
