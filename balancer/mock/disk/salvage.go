package disk

import (
	"fmt"
	"os"
	"path/filepath"
)

// Verify reads the whole file of a directory and tells what is damaged. It
// hands what is not to keep.
func Verify(dir string, keep func(Entry)) (found *Inspection, err error) {
	path := filepath.Join(dir, FileName)
	err = withFile(dir, path, func(file *os.File) error {
		if found, err = inspect(file, keep); err != nil {
			return err
		}
		return checkFormat("it", found.Format, FormatVersion)
	})
	if err == nil && found == nil {
		err = fmt.Errorf("dbpath: there is no cluster in %s", dir)
	}
	return found, err
}

// Salvage returns what can be read of the file of a directory, and what can't.
func Salvage(dir string) (Memory, *Inspection, error) {
	m := Memory{}
	found, err := Verify(dir, func(e Entry) { m[e.Bucket] = append(m[e.Bucket], e) })
	return m, found, err
}

// PutSalvaged puts a new file with a state in the place of the one that is
// damaged, which keeps its contents under another name, which it returns.
func PutSalvaged(dir string, all func(emit func(Entry))) (damaged string, err error) {
	path := filepath.Join(dir, FileName)
	salvaged := path + salvagedSuffix
	err = writeFile(salvaged, func(emit func(Entry)) error {
		all(emit)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("dbpath: %w", err)
	}
	if damaged, err = aside(path); err != nil {
		return "", fmt.Errorf("dbpath: %w", err)
	}
	if err := replace(salvaged, path); err != nil {
		return "", fmt.Errorf("dbpath: %w", err)
	}
	return damaged, nil
}
