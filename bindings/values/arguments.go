package values

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// optionalArg marks an optional argument.
const optionalArg = ""

// parameterNames returns the names of a constructor's parameters for errors.
func parameterNames(constructor string) []string {
	names := map[string]string{
		"ObjectId": "id", "BinData": "subtype base64", "HexData": "subtype hex", "MD5": "hex", "UUID": "hex",
		"LegacyJavaUUID": "hex", "LegacyCSharpUUID": "hex", "LegacyPythonUUID": "hex", "DBRef": "collection id db",
		"BSONRegExp": "pattern flags", "Timestamp": "t i", "Code": "code scope", "bsonsize": "document",
	}
	if list, ok := names[constructor]; ok {
		return strings.Fields(list)
	}
	return []string{"value"}
}

// callee is the called constructor or function, whose name is used in errors about its arguments.
type callee struct {
	realm *Realm
	name  string
}

// throwArgument throws the shell's error for an argument.
func (c callee) throwArgument(problem string) {
	c.realm.Errors.throwInput(problem + " (" + c.name + ")")
}

// checkTypes checks positional arguments: types[i] lists the allowed types of argument i, as results of
// JavaScript's typeof or names of BSON classes.
func (c callee) checkTypes(args []goja.Value, types ...[]string) {
	for i, allowed := range types {
		v := arg(args, i)
		if goja.IsUndefined(v) {
			if slices.Contains(allowed, optionalArg) {
				continue
			}
			c.throwArgument("Missing required argument " + parameterNames(c.name)[i])
		}
		got := typeOf(v)
		if slices.Contains(allowed, got) {
			continue
		}
		if p, ok := payloadOf(v); ok && slices.Contains(allowed, classSpecOf(p.kind()).bsontype) {
			continue
		}
		c.throwArgument(fmt.Sprintf("Argument %s must be of type %s, got %s instead", parameterNames(c.name)[i],
			alternativesText(allowed), got))
	}
}

func alternativesText(types []string) string {
	named := make([]string, 0, len(types))
	for _, t := range types {
		if t != optionalArg {
			named = append(named, t)
		}
	}
	return strings.Join(named, " or ")
}

// typeOf returns the result of JavaScript's typeof.
func typeOf(v goja.Value) string {
	switch v := v.(type) {
	case nil:
		return "undefined"
	case *goja.Object:
		if isFunction(v) {
			return "function"
		}
		return "object"
	case goja.String:
		return "string"
	case *goja.Symbol:
		return "symbol"
	}
	switch {
	case goja.IsUndefined(v):
		return "undefined"
	case goja.IsNull(v):
		return "object"
	case goja.IsBigInt(v):
		return "bigint"
	case goja.IsNumber(v):
		return "number"
	default:
		return "boolean"
	}
}

func isFunction(o *goja.Object) bool {
	_, ok := goja.AssertFunction(o)
	return ok
}

func isString(v goja.Value) bool {
	_, ok := v.(goja.String)
	return ok
}

func isArray(o *goja.Object) bool {
	if IsProxy(o) {
		t := o.Export().(goja.Proxy).Target()
		return t != nil && isArray(t)
	}
	return o.ClassName() == "Array"
}

// objectKind is one of the common kinds of objects, which can be determined quickly.
type objectKind uint8

const (
	otherObject objectKind = iota
	plainObject            // not an instance of a built-in class; includes lazy documents
	plainArray
)

func objectKindOf(o *goja.Object) objectKind {
	switch t := o.ExportType(); {
	case t == typeOfStringMap && o.ClassName() == "Object", t == typeOfLazy:
		return plainObject
	case t == typeOfSlice && o.ClassName() == "Array":
		return plainArray
	default:
		return otherObject
	}
}

// isMap reports whether the value is a Map. Like isSet, it checks the implementation rather than the
// class name, because the runtime calls both "Object".
func isMap(o *goja.Object) bool { return o.ExportType() == typeOfMap }

func isSet(o *goja.Object) bool {
	return o.ExportType() == typeOfSlice && o.ClassName() == "Object"
}

// IsProxy reports whether the value is a Proxy.
func IsProxy(o *goja.Object) bool { return o.ExportType() == typeOfProxy }
