package keyorder

import "go.mongodb.org/mongo-driver/v2/bson"

// Rank returns the place of a type in the order of types (rules/03-catalog-and-keys §4.4), -1 for
// MinKey to 127 for MaxKey. Types of one rank compare by value.
func Rank(t bson.Type) int {
	if t == bson.TypeMinKey {
		return -1
	}
	return int(ranks[t])
}

// ranks leaves Undefined, and whatever is not a BSON type, at 0.
var ranks = [256]uint8{
	bson.TypeNull:             5,
	bson.TypeInt32:            10,
	bson.TypeInt64:            10,
	bson.TypeDouble:           10,
	bson.TypeDecimal128:       10,
	bson.TypeString:           15,
	bson.TypeSymbol:           15,
	bson.TypeEmbeddedDocument: 20,
	bson.TypeArray:            25,
	bson.TypeBinary:           30,
	bson.TypeObjectID:         35,
	bson.TypeBoolean:          40,
	bson.TypeDateTime:         45,
	bson.TypeTimestamp:        47,
	bson.TypeRegex:            50,
	bson.TypeDBPointer:        55,
	bson.TypeJavaScript:       60,
	bson.TypeCodeWithScope:    65,
	bson.TypeMaxKey:           127,
}
