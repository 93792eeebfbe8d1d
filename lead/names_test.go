package lead

import "testing"

// Two names, and what is said of them.
type namePair struct {
	name               string
	a, b               string
	agree, contradicts bool
}

var namePairs = []namePair{
	{"the same", "Ann Roe", "Ann Roe", true, false},
	{"case", "ANN ROE", "ann roe", true, false},
	{"accents", "José Peña", "Jose Pena", true, false},
	{"accents, decomposed", "Jose\u0301 Pen\u0303a", "José Peña", true, false},
	{"letters that have no accent", "Søren Ødegård", "Soren Odegard", true, false},
	{"a Turkish dotless i", "Işıl Yılmaz", "Isil Yilmaz", true, false},
	{"a sharp s", "Jürgen Groß", "Jurgen Gross", true, false},
	{"umlauts spelled out", "Jörg Müller", "Joerg Mueller", true, false},
	{"full-width letters", "Ａｎｎ　Ｒｏｅ", "Ann Roe", true, false},
	{"family name first", "Garcia, Maria", "María García", true, false},
	{"family name first without a comma", "Nagy István", "István Nagy", true, false},
	{"an initial", "J. Smith", "John Smith", true, false},
	{"initials in a row", "J.R.R. Tolkien", "John Ronald Reuel Tolkien", true, false},
	{"another initial", "J. Smith", "Peter Smith", false, false},
	{"a Cyrillic initial", "И. Петров", "Иван Петров", true, false},
	{"an initial for the family name", "John S.", "John Smith", true, false},
	{"initials alone", "J. S.", "John Smith", false, false},
	{"the same initials", "J. S.", "J. S.", true, false},
	{"a middle name more", "Ann Mary Roe", "Ann Roe", true, false},
	{"a middle initial more", "Ann M. Roe", "Ann Mary Roe", true, false},
	{"another middle name", "Ann Mary Roe", "Ann Beth Roe", false, false},
	{"an initial that could be either", "J John", "John Jim", true, false},
	{"a short form", "Chris Jones", "Christopher Jones", true, false},
	{"a short form behind the family name", "Jones Chris", "Christopher Jones", true, false},
	{"a nickname", "Bob Smith", "Robert Smith", true, false},
	{"a nickname, Bill", "Bill Gates", "William Gates", true, false},
	{"a nickname, Liz", "Liz Taylor", "Elizabeth Taylor", true, false},
	{"two nicknames of one name", "Bob Smith", "Robbie Smith", true, false},
	{"a nickname of another name", "Bob Smith", "William Smith", false, false},
	{"a nickname beside the name", "Robert (Bob) Smith", "Bob Smith", true, false},
	{"a nickname in quotes", "Robert “Bob” Smith", "Bob Smith", true, false},
	{"spellings of one name", "Mohammed Hassan", "Muhammad Hassan", true, false},
	{"another given name", "Ann Roe", "Peter Roe", false, false},
	{"another family name", "Ann Smith", "Ann Jones", false, false},
	{"a family name that begins alike", "Wei Chan", "Wei Chang", false, false},
	{"a family name that is also a nickname", "Ann Bob", "Ann Robert", false, false},
	{"a double family name", "Gabriel García Márquez", "Gabriel García", true, false},
	{"a double family name, the second", "Gabriel García Márquez", "G. Marquez", true, false},
	{"a hyphen at a marriage", "Ann Smith-Jones", "Ann Jones", true, false},
	{"a hyphen or not", "Jean-Pierre Martin", "Jean Pierre Martin", true, false},
	{"a hyphen or one word", "Anne-Marie Roe", "Annemarie Roe", true, false},
	{"another hyphen", "Anna\u2010Maria Roe", "Anna–Maria Roe", true, false},
	{"particles", "Anna van der Berg", "Anna Berg", true, false},
	{"particles in one word", "Anna van der Berg", "Anna Vanderberg", true, false},
	{"particles after the comma", "van der Berg, Anna", "Anna van der Berg", true, false},
	{"de la", "María de la Cruz", "Maria Delacruz", true, false},
	{"al-", "Mohammed al-Fayed", "Mohamed Fayed", true, false},
	{"particles in common alone", "Anna van der Berg", "Peter van der Meer", false, true},
	{"a particle that is a name", "Le Van", "Le Van", true, false},
	{"an apostrophe", "Pat O'Brien", "Pat O’Brien", true, false},
	{"an apostrophe or a space", "Pat O'Brien", "Pat O Brien", true, false},
	{"an apostrophe or nothing", "Pat O`Brien", "Pat OBrien", true, false},
	{"an apostrophe of Hawaii", "Kaʻiulani Roe", "Kaiulani Roe", true, false},
	{"other apostrophes", "Gennaro D´Angelo", "Gennaro D‘Angelo", true, false},
	{"Mc", "Ann Mc Donald", "Ann McDonald", true, false},
	{"titles", "Prof. Dr. Ann Roe", "Ann Roe", true, false},
	{"a degree", "Ann Roe, Ph.D.", "Roe, Ann", true, false},
	{"letters that are no degree", "joseph.dodd", "Joseph Dodd", true, false},
	{"a degree against a middle name", "Ann Roe M.D.", "Ann Mary Roe", true, false},
	{"junior", "John Smith Jr.", "John Smith", true, false},
	{"the third", "John Smith III", "John Smith 3rd", true, false},
	{"brackets", "Ann Roe (she/her)", "Ann Mary Roe", true, false},
	{"an open bracket", "Ann Roe (form", "Ann Roe", true, false},
	{"only brackets", "(Ann Roe)", "Peter Doe", false, true},
	{"full-width brackets", "Ann（安）Roe", "Ann Roe", true, false},
	{"one word in common", "Ann", "Ann Roe", true, false},
	{"one word each", "Ann", "Peter", false, true},
	{"emoji", "🚀 Ann ✨\ufe0f Roe 1\ufe0f\u20e3", "Ann Roe", true, false},
	{"junk", "???", "Ann Roe", true, false},
	{"blank", "", "Ann Roe", true, false},
	{"both blank", "", " ", true, false},
	{"a number", "12345", "Ann Roe", true, false},
	{"nothing in common", "Ann Roe", "Peter Doe", false, true},
	{"Chinese", "王伟", "王伟", true, false},
	{"Chinese, another", "王伟", "李娜", false, true},
	{"Chinese, one family name", "王伟", "王芳", false, false},
	{"Japanese with a space", "山田 太郎", "山田太郎", true, false},
	{"Japanese, the family name alone", "山田", "山田太郎", false, false},
	{"Japanese marks make letters", "かく", "がく", false, true},
	{"Korean", "김 민준", "김민준", true, false},
	{"kanji and kana", "山田太郎", "ヤマダ タロウ", false, false},
	{"a Latin transcription", "王伟", "Wang Wei", false, false},
	{"Cyrillic", "Иван Петров", "Петров Иван", true, false},
	{"Cyrillic, io", "Пётр Королёв", "Петр Королев", true, false},
	{"Cyrillic, another", "Иван Петров", "Анна Смирнова", false, true},
	{"Cyrillic and Latin", "Иван Петров", "Ivan Petrov", false, false},
	{"Cyrillic and Greek", "Иван Петров", "Γιώργος Παπαδόπουλος", false, false},
	{"two scripts in one name", "Wang Wei 王伟", "Peter Doe", false, false},
	{"Arabic with and without points", "مُحَمَّد علي", "محمد علي", true, false},
	{"Hindi vowels make words", "राम शर्मा", "रमा शर्मा", false, false},
	{"Hindi", "राम शर्मा", "राम शर्मा", true, false},
}

func TestNamesOfPeople(t *testing.T) {
	for _, tt := range namePairs {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
				if got := NamesAgree(p[0], p[1]); got != tt.agree {
					t.Errorf("%q and %q agree: %t, want %t", p[0], p[1], got, tt.agree)
				}
				if got := NamesContradict(p[0], p[1]); got != tt.contradicts {
					t.Errorf("%q and %q contradict: %t, want %t", p[0], p[1], got, tt.contradicts)
				}
			}
		})
	}
}

func FuzzNames(f *testing.F) {
	for _, tt := range namePairs {
		f.Add(tt.a, tt.b)
	}
	f.Add("aa ab aaa a", "a aa aba ab")
	f.Add("(((", ")(")
	f.Add("\xff\xfe, ,", "\u0301\u0301")
	f.Fuzz(func(t *testing.T, a, b string) {
		agree, contradict := NamesAgree(a, b), NamesContradict(a, b)
		if agree != NamesAgree(b, a) {
			t.Error("agreeing is one-sided")
		}
		if contradict != NamesContradict(b, a) {
			t.Error("contradicting is one-sided")
		}
		if agree && contradict {
			t.Error("they agree and contradict")
		}
		if !NamesAgree(a, a) || NamesContradict(a, a) {
			t.Errorf("%q is not itself", a)
		}
		if NamesContradict(a, "") || !NamesAgree("", b) {
			t.Error("something speaks against no name")
		}
	})
}
