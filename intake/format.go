package intake

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// A Format is how a file holds its rows.
type Format string

// The formats.
const (
	FormatCSV   Format = "csv"   // with a header line; the delimiter is found out
	FormatJSONL Format = "jsonl" // an object a line, or one array of objects
)

// ParseFormat checks a format's name; "" stays "", which means: find out.
func ParseFormat(s string) (Format, error) {
	switch f := Format(strings.ToLower(s)); f {
	case "", FormatCSV, FormatJSONL:
		return f, nil
	}
	return "", fmt.Errorf("unknown format %q: use csv or jsonl", s)
}

// FormatOf tells a file's format by how it begins and, where that says nothing,
// by its name. What is neither is CSV. The first bytes are UTF-8.
func FormatOf(name string, firstBytes []byte) Format {
	head := bytes.TrimSpace(bytes.TrimPrefix(firstBytes, bom))
	if len(head) > 0 && (head[0] == '{' || head[0] == '[') {
		switch next := bytes.TrimSpace(head[1:]); {
		case len(next) == 0, head[0] == '{' && (next[0] == '"' || next[0] == '}'),
			head[0] == '[' && (next[0] == '{' || next[0] == ']'):
			return FormatJSONL
		}
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".jsonl", ".ndjson", ".json":
		return FormatJSONL
	}
	return FormatCSV
}
