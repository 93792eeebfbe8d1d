package httpjson

// Parse reads a body as one JSON document.
var Parse = parse
