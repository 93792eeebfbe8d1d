package intake

import (
	"context"
	"io"
	"iter"
	"strings"
	"time"

	"backstop/lead"
)

// A Person is what a row of a directory file came to.
type Person struct {
	Line    int
	Profile lead.Profile // has an email address; empty for a reject
	AsOf    lead.Time    // from a column as_of or updated; zero without one
	Skip    string
	Reject  *Reject
}

// PeopleReader gives the people of one file, once.
type PeopleReader struct{ r *Reader }

// ReadPeople begins to read a file of people for the in-house directory: the
// same formats and headers as [Read], and a column for any of [lead.Fields],
// written "person.title" or "title", "company.industry" or "industry". Every row
// needs an email address.
func ReadPeople(r io.Reader, name string, o Options) (*PeopleReader, error) {
	rd, err := open(r, name, o, peopleSchema)
	if err != nil {
		return nil, err
	}
	return &PeopleReader{rd}, nil
}

// RejectHeaders are the headers of the cells in a reject's Raw.
func (p *PeopleReader) RejectHeaders() []string { return p.r.RejectHeaders() }

// Rows is as [Reader.Rows].
func (p *PeopleReader) Rows(ctx context.Context) iter.Seq2[Person, error] {
	return rows(ctx, p.r, p.person)
}

func (p *PeopleReader) person(it item) Person {
	out := Person{Line: it.line, Skip: it.skip(), Reject: it.reject}
	if out.Reject != nil || out.Skip != "" {
		return out
	}
	profile, asOf, err := it.values.profile(p.r.origin)
	if err != nil {
		out.Reject = it.refuse(err)
		return out
	}
	out.Profile, out.AsOf = profile, asOf
	return out
}

// profileOnly are the targets that a lead does not have.
var profileOnly = map[target]lead.Field{
	tRole: lead.PersonRole, tSeniority: lead.PersonSeniority, tEmailStatus: lead.PersonEmailStatus,
	tIndustry: lead.CompanyIndustry, tHeadcount: lead.CompanyHeadcount, tCompanyLocation: lead.CompanyLocation,
	tCompanyPhone: lead.CompanyPhone, tCompanyLinkedIn: lead.CompanyLinkedIn,
}

func (v *values) profile(source string) (lead.Profile, lead.Time, error) {
	l, err := lead.Normalize(v.lead(source))
	if err != nil {
		return nil, lead.Time{}, err
	}
	if l.Email == "" {
		return nil, lead.Time{}, &lead.FieldError{Field: "email", Reason: "is empty", Cure: "give the person's address"}
	}
	asOf, err := parseDay(v[tAsOf])
	if err != nil {
		return nil, lead.Time{}, err
	}
	p := l.Profile()
	for t, f := range profileOnly {
		if len(v[t]) > lead.MaxFieldLength {
			return nil, lead.Time{}, &lead.FieldError{Field: names[t], Reason: "is longer than 1000 bytes", Cure: "shorten it"}
		}
		if isBlank(v[t]) {
			continue
		}
		p[f] = strings.Join(strings.Fields(v[t]), " ")
		if t == tCompanyLinkedIn {
			p[f] = lead.NormalizeLinkedIn(v[t])
		}
	}
	return p, asOf, nil
}

// parseDay reads a date or time that can only be read one way.
func parseDay(s string) (lead.Time, error) {
	s = strings.TrimSpace(s)
	if isBlank(s) {
		return lead.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return lead.At(t), nil
		}
	}
	return lead.Time{}, &lead.FieldError{Field: names[tAsOf], Reason: "is not a date that can be read one way only", Cure: "write it as 2026-01-31"}
}
