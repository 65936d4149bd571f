// Package yamlmap reads settings in YAML: mappings whose names are known, with errors
// that begin with the line and suggest the name that was probably meant.
package yamlmap
