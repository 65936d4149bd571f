package bindings

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// bsonForms returns the constructors of BSON values by name, with the form of a call and a description.
func bsonForms() map[string][2]string {
	return map[string][2]string{
		"ObjectId": {"ObjectId(hex)", "Makes an ObjectId: a new one, or that of 24 hexadecimal digits."},
		"ISODate": {"ISODate(text)",
			"Makes a Date: now, or that of an ISO 8601 text, in UTC unless it says otherwise."},
		"Long": {"Long(low, high, unsigned)",
			"Makes a 64-bit integer. Long(\"123\") and Long.fromString(\"123\") take a text, which is always exact."},
		"NumberLong": {"NumberLong(value)", "Makes a 64-bit integer. Pass a text: a number is exact up to 2^53 only."},
		"Int32":      {"Int32(value)", "Makes a 32-bit integer."},
		"NumberInt":  {"NumberInt(value)", "Makes a 32-bit integer."},
		"Double": {"Double(value)",
			"Makes a floating-point number that stays one in the database, also when it is whole."},
		"Decimal128":    {"Decimal128(text)", "Makes a decimal number of up to 34 digits."},
		"NumberDecimal": {"NumberDecimal(text)", "Makes a decimal number of up to 34 digits."},
		"Timestamp": {"Timestamp({t: seconds, i: counter})",
			"Makes a timestamp as the oplog has. For times of day use ISODate."},
		"MinKey":  {"MinKey()", "Makes the value below all others: the lower bound of the first chunk."},
		"MaxKey":  {"MaxKey()", "Makes the value above all others: the upper bound of the last chunk."},
		"Binary":  {"Binary(buffer, subtype)", "Makes binary data."},
		"BinData": {"BinData(subtype, base64)", "Makes binary data of a base64 text."},
		"HexData": {"HexData(subtype, hex)", "Makes binary data of hexadecimal digits."},
		"MD5":     {"MD5(hex)", "Makes binary data of the subtype for MD5 sums."},
		"UUID": {"UUID(hex)",
			"Makes a UUID: a new one, or that of 32 hexadecimal digits, with or without dashes."},
		"LegacyJavaUUID":   {"LegacyJavaUUID(hex)", "Makes a UUID in the byte order of old Java drivers."},
		"LegacyCSharpUUID": {"LegacyCSharpUUID(hex)", "Makes a UUID in the byte order of old C# drivers."},
		"LegacyPythonUUID": {"LegacyPythonUUID(hex)", "Makes a UUID in the byte order of old Python drivers."},
		"Code":             {"Code(code, scope)", "Makes a value of JavaScript code."},
		"DBRef":            {"DBRef(collection, id, database)", "Makes a reference to a document."},
		"BSONRegExp": {"BSONRegExp(pattern, options)",
			"Makes a regular expression of the server's kind, with options that JavaScript lacks."},
		"BSONSymbol": {"BSONSymbol(text)", "Makes a value of the old type symbol."},
	}
}

// defineBSONHelp adds a help to a constructor.
func (s *Shell) defineBSONHelp(name string, constructor *goja.Object) {
	about, ok := bsonForms()[name]
	if !ok {
		return
	}
	s.JS.Help.DefineHelp(constructor, func() string {
		return script.Help{CallForm: about[0],
			Text: about[1]}.Render(s.JS)
	})
}
