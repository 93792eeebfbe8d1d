package queue

// NextSecond is the first whole second that is not before a time.
var NextSecond = nextSecond

// Printable writes what asynqmon would not show as escapes.
var Printable = printable
