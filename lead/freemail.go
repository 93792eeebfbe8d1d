package lead

// freeMail holds hosts where an address says nothing about an employer. It
// covers the providers that make up nearly all consumer addresses; a host that
// is missing here costs a company look-up that finds the mail provider itself.
var freeMail = map[string]bool{
	"gmail.com": true, "googlemail.com": true,
	"outlook.com": true, "hotmail.com": true, "hotmail.co.uk": true, "hotmail.fr": true, "hotmail.de": true,
	"hotmail.it": true, "hotmail.es": true, "live.com": true, "live.co.uk": true, "live.fr": true, "msn.com": true,
	"yahoo.com": true, "yahoo.co.uk": true, "yahoo.co.in": true, "yahoo.co.jp": true, "yahoo.fr": true,
	"yahoo.de": true, "yahoo.it": true, "yahoo.es": true, "yahoo.com.br": true, "yahoo.ca": true, "ymail.com": true,
	"rocketmail.com": true, "aol.com": true,
	"icloud.com": true, "me.com": true, "mac.com": true,
	"proton.me": true, "protonmail.com": true, "pm.me": true, "tutanota.com": true, "tuta.io": true,
	"fastmail.com": true, "hey.com": true, "zoho.com": true, "mail.com": true,
	"gmx.de": true, "gmx.net": true, "gmx.com": true, "gmx.at": true, "gmx.ch": true, "web.de": true,
	"t-online.de": true, "freenet.de": true,
	"orange.fr": true, "wanadoo.fr": true, "free.fr": true, "laposte.net": true, "sfr.fr": true,
	"libero.it": true, "virgilio.it": true, "tiscali.it": true,
	"mail.ru": true, "yandex.ru": true, "yandex.com": true, "bk.ru": true, "inbox.ru": true, "list.ru": true, "rambler.ru": true,
	"qq.com": true, "163.com": true, "126.com": true, "sina.com": true, "foxmail.com": true,
	"naver.com": true, "daum.net": true, "hanmail.net": true, "rediffmail.com": true,
	"uol.com.br": true, "bol.com.br": true, "terra.com.br": true, "comcast.net": true, "verizon.net": true,
	"att.net": true, "sbcglobal.net": true, "bellsouth.net": true, "cox.net": true, "btinternet.com": true,
	"bigpond.com": true, "shaw.ca": true, "rogers.com": true, "seznam.cz": true, "wp.pl": true, "o2.pl": true, "interia.pl": true,
}

// IsFreeMail reports whether host gives addresses to anybody, so that it must
// not be taken for a lead's company. The host is a normalised one.
func IsFreeMail(host string) bool { return freeMail[host] }
