package document

import "strings"

// IsOperator reports whether a name is an operator's.
func IsOperator(name string) bool { return strings.HasPrefix(name, "$") }

// IsReference reports whether a name is a field of a DBRef, which is not an operator.
func IsReference(name string) bool { return name == "$ref" || name == "$id" || name == "$db" }

// IsExpression reports whether a document's first field is an operator.
func IsExpression(doc []byte) bool { name, _, ok := FirstField(doc); return ok && IsOperator(name) }
