package values

import "github.com/dop251/goja"

// globalSpec defines one global.
type globalSpec struct {
	name string
	make func(w *Realm) goja.Value
}

// globals returns the globals of rules/04-values-and-language §4.7.
func globals() []globalSpec {
	classOf := func(name string, k kind) globalSpec {
		return globalSpec{name, func(w *Realm) goja.Value { return w.class(k).ctor }}
	}
	aliasOf := func(name string, k kind, construct func(*Realm, []goja.Value) payload) globalSpec {
		return globalSpec{name, func(w *Realm) goja.Value { return w.newAlias(name, k, construct) }}
	}
	return []globalSpec{
		classOf("ObjectId", kindObjectID),
		classOf("Long", kindLong),
		classOf("Int32", kindInt32),
		classOf("Double", kindDouble),
		classOf("Decimal128", kindDecimal128),
		classOf("Timestamp", kindTimestamp),
		classOf("MinKey", kindMinKey),
		classOf("MaxKey", kindMaxKey),
		classOf("Binary", kindBinary),
		classOf("UUID", kindUUID),
		classOf("Code", kindCode),
		classOf("DBRef", kindDBRef),
		classOf("BSONRegExp", kindRegExp),
		classOf("BSONSymbol", kindSymbol),
		aliasOf("NumberLong", kindLong, newNumberLong),
		aliasOf("NumberInt", kindInt32, newNumberInt),
		aliasOf("NumberDecimal", kindDecimal128, newNumberDecimal),
		aliasOf("BinData", kindBinary, newBinData),
		aliasOf("HexData", kindBinary, newHexData),
		aliasOf("MD5", kindBinary, newMD5),
		aliasOf("LegacyJavaUUID", kindBinary, newLegacyUUID("LegacyJavaUUID", javaOrder)),
		aliasOf("LegacyCSharpUUID", kindBinary, newLegacyUUID("LegacyCSharpUUID", csharpOrder)),
		aliasOf("LegacyPythonUUID", kindBinary, newLegacyUUID("LegacyPythonUUID", plainOrder)),
		{"ISODate", (*Realm).makeISODate},
		{"bsonsize", (*Realm).makeBSONSize},
		{"EJSON", (*Realm).makeEJSON},
	}
}

// classSpecOf returns the definition of a class.
func classSpecOf(k kind) classSpec {
	return [kindCount]func() classSpec{
		kindObjectID:   objectIDClass,
		kindLong:       longClass,
		kindInt32:      int32Class,
		kindDouble:     doubleClass,
		kindDecimal128: decimal128Class,
		kindTimestamp:  timestampClass,
		kindMinKey:     minKeyClass,
		kindMaxKey:     maxKeyClass,
		kindBinary:     binaryClass,
		kindUUID:       uuidClass,
		kindCode:       codeClass,
		kindDBRef:      dbRefClass,
		kindRegExp:     regExpClass,
		kindSymbol:     symbolClass,
	}[k]()
}
