package store

import "strings"

func isOperator(name string) bool { return strings.HasPrefix(name, "$") }

func isReference(name string) bool { return name == "$ref" || name == "$id" || name == "$db" }

func isExpressionDoc(doc []byte) bool { name, _, ok := first(doc); return ok && isOperator(name) }
