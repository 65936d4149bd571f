package paths

import (
	"strings"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
)

// Parse splits a path. It rejects invalid paths with the server's errors.
func Parse(text string) ([]string, error) {
	switch {
	case text == "":
		return nil, servererr.NewCode(40352, "FieldPath cannot be constructed with empty string")
	case strings.HasSuffix(text, "."):
		return nil, servererr.NewCode(40353, "FieldPath must not end with a '.'.")
	}
	path := Split(text)
	for _, part := range path {
		switch {
		case part == "":
			return nil, servererr.NewCode(15998, "FieldPath field names may not be empty strings.")
		case part[0] == '$' && !document.IsReference(part):
			return nil, servererr.NewCode(16410,
				"FieldPath field names may not start with '$'. Consider using $getField or $setField.")
		case strings.ContainsRune(part, 0):
			return nil, servererr.NewCode(16411, "FieldPath field names may not contain '\\0'.")
		}
	}
	if len(path) > 200 {
		return nil, servererr.NewCode(5984700, "FieldPath is too long")
	}
	return path, nil
}
