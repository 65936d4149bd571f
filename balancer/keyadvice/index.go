package keyadvice

import "strings"

// ShardKeyFields returns the fields of the index that can be part of a key: those before the first field that
// is neither ascending, descending nor hashed, or a wildcard.
func (i Index) ShardKeyFields() (names []string) {
	elements, err := i.Key.Elements()
	if err != nil {
		return nil
	}
	for _, e := range elements {
		text, isText := e.Value().StringValueOK()
		if isText && text != "hashed" || e.Key() == "$**" || strings.HasSuffix(e.Key(), ".$**") {
			break
		}
		names = append(names, e.Key())
	}
	return names
}
