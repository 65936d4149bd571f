// Package yamlmap reads settings in YAML: mappings with known names. Errors begin with the line, and
// suggest a similar name for an unknown one.
package yamlmap
