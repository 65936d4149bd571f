package store

import "strings"

// fieldPath splits a path and refuses what the server does.
func fieldPath(text string) ([]string, error) {
	switch {
	case text == "":
		return nil, fail(40352, "FieldPath cannot be constructed with empty string")
	case strings.HasSuffix(text, "."):
		return nil, fail(40353, "FieldPath must not end with a '.'.")
	}
	path := splitPath(text)
	for _, part := range path {
		switch {
		case part == "":
			return nil, fail(15998, "FieldPath field names may not be empty strings.")
		case part[0] == '$' && !isReference(part):
			return nil, fail(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
		case strings.ContainsRune(part, 0):
			return nil, fail(16411, "FieldPath field names may not contain '\\0'.")
		}
	}
	if len(path) > 200 {
		return nil, fail(5984700, "FieldPath is too long")
	}
	return path, nil
}
