package values

import (
	"strings"

	"github.com/dop251/goja"
)

// inspectMethod returns the method inspect() of every BSON value: it returns the constructor call, as
// print shows it, but with strings in the double quotes of JSON.
func inspectMethod(w *Realm) method {
	return newMethod(w, "inspect",
		func(p payload, _ []goja.Value) goja.Value { return w.rt.ToValue(constructorCall(w, p)) })
}

func constructorCall(w *Realm, p payload) string {
	switch p := p.(type) {
	case *binaryValue:
		text := inspectPayload(w, p)
		if strings.HasPrefix(text, "Binary.") {
			return strings.ReplaceAll(text, "'", `"`)
		}
		return text // UUID('…') and MD5('…') keep their quotes
	case *code:
		if p.scope == nil {
			return callText("Code", quoteJSON(p.text))
		}
		return callText("Code", quoteJSON(p.text), w.intrinsics.json(p.scope))
	case *dbRef:
		args := []string{quoteJSON(p.collection), `new ObjectId("` + p.oid.String() + `")`}
		if p.db != "" {
			args = append(args, quoteJSON(p.db))
		}
		return callText("DBRef", args...)
	case *bsonRegExp:
		return callText("BSONRegExp", quoteJSON(p.pattern), quoteJSON(p.options))
	case *bsonSymbol:
		return callText("BSONSymbol", quoteJSON(p.text))
	default: // no quotes can occur
		return strings.ReplaceAll(inspectPayload(w, p), "'", `"`)
	}
}

func inspectPayload(w *Realm, p payload) string {
	return p.inspectText(&inspector{realm: w, o: DefaultInspectOptions()})
}

func callText(name string, args ...string) string { return name + "(" + strings.Join(args, ", ") + ")" }
