package keyadvice

// Fields returns the fields of the index that can be part of a key: those before the first field that
// is neither ascending, descending nor hashed.
func (i Index) Fields() (names []string) {
	elements, err := i.Key.Elements()
	if err != nil {
		return nil
	}
	for _, e := range elements {
		text, isText := e.Value().StringValueOK()
		if isText && text != "hashed" {
			break
		}
		names = append(names, e.Key())
	}
	return names
}
