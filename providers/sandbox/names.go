package sandbox

// What people and companies are made of.
var (
	givenNames = []string{
		"Amara", "Anna", "Beatriz", "Bilal", "Camille", "Carlos", "Chiara", "Daniel", "Dmitri", "Elif", "Emma",
		"Fatima", "Felix", "Grace", "Hana", "Hugo", "Imani", "Ingrid", "Ivan", "Jamal", "Jing", "José", "Julia",
		"Kofi", "Lars", "Leila", "Liam", "Lucía", "Magnus", "Mei", "Mohammed", "Nadia", "Naoko", "Nia", "Noah",
		"Olga", "Omar", "Oscar", "Priya", "Rafael", "Ravi", "Rosa", "Sanjay", "Sara", "Siobhán", "Sofia", "Søren",
		"Tariq", "Thandiwe", "Tomasz", "Uma", "Viktor", "Wei", "Yara", "Yusuf", "Zoë",
	}
	familyNames = []string{
		"Abe", "Adeyemi", "Ahmed", "Almeida", "Andersson", "Banerjee", "Bauer", "Becker", "Castillo", "Chen",
		"Costa", "Dubois", "Eriksen", "Fernández", "Fischer", "García", "Gupta", "Haddad", "Hansen", "Hughes",
		"Ito", "Ivanova", "Jansen", "Kamau", "Kim", "Kowalski", "Kumar", "Larsen", "Lefèvre", "Lopez", "Mbeki",
		"Mensah", "Moreau", "Müller", "Murphy", "Nakamura", "Ndiaye", "Nguyen", "Novák", "O'Brien", "Okafor",
		"Osei", "Park", "Petrov", "Quinn", "Rahman", "Rossi", "Sato", "Schmidt", "Silva", "Singh", "Taylor",
		"Tremblay", "Vargas", "Virtanen", "Walsh", "Weber", "Wójcik", "Yamada", "Yılmaz", "Zhang",
	}
	firstWords = []string{
		"Alder", "Amber", "Beacon", "Birch", "Blue Harbor", "Bright", "Cedar", "Clear Lake", "Copper", "Crest",
		"Delta", "Ember", "Evergreen", "Falcon", "Granite", "Harbor", "Iron Bridge", "Juniper", "Keystone",
		"Lark", "Maple", "Meridian", "Northwind", "Oak Hill", "Pioneer", "Quarry", "Red Fox", "River", "Silver",
		"Stone", "Summit", "Tidal", "Union", "Verdant", "West Gate", "Willow",
	}
	secondWords = []string{
		"Analytics", "Bank", "Biotech", "Builders", "Energy", "Foods", "Freight", "Health", "Hotels", "Insurance",
		"Labs", "Legal", "Logistics", "Media", "Mining", "Motors", "Networks", "Optics", "Packaging", "Partners",
		"Robotics", "Security", "Software", "Studios", "Systems", "Textiles", "Travel", "Wind",
	}
	industries = []string{
		"Banking", "Biotechnology", "Construction", "Consumer Goods", "Education", "Energy", "Health Care",
		"Hospitality", "Insurance", "Internet Software & Services", "Logistics", "Machinery", "Media", "Retail",
	}
	places = []geo{
		{"Amsterdam", "North Holland", "Netherlands"}, {"Austin", "Texas", "United States"},
		{"Bengaluru", "Karnataka", "India"}, {"Berlin", "Berlin", "Germany"}, {"Bogotá", "", "Colombia"},
		{"Boston", "Massachusetts", "United States"}, {"Dublin", "Leinster", "Ireland"},
		{"Lagos", "Lagos", "Nigeria"}, {"Lyon", "Auvergne-Rhône-Alpes", "France"}, {"Nairobi", "", "Kenya"},
		{"Osaka", "Osaka", "Japan"}, {"Porto", "", "Portugal"}, {"São Paulo", "São Paulo", "Brazil"},
		{"Seoul", "", "South Korea"}, {"Toronto", "Ontario", "Canada"}, {"Warsaw", "Masovia", "Poland"},
	}
	jobs = []job{
		{"Account Executive", "sales", "executive"}, {"Chief Executive Officer", "leadership", "executive"},
		{"Chief Technology Officer", "engineering", "executive"}, {"Customer Success Manager", "customer_service", "manager"},
		{"Data Engineer", "engineering", ""}, {"Finance Director", "finance", "director"},
		{"Founder", "leadership", "executive"}, {"Head of Growth", "marketing", "director"},
		{"HR Business Partner", "human_resources", "manager"}, {"IT Administrator", "information_technology", ""},
		{"Marketing Manager", "marketing", "manager"}, {"Operations Manager", "operations", "manager"},
		{"Product Manager", "product", "manager"}, {"Purchasing Lead", "operations", "manager"},
		{"Sales Development Representative", "sales", ""}, {"Software Engineer", "engineering", ""},
		{"VP of Sales", "sales", "executive"},
	}
	ranges    = []string{"1-10", "11-50", "51-250", "251-1K", "1K-5K", "5K-10K", "10001+"}
	freeHosts = []string{"gmail.com", "outlook.com", "yahoo.com", "web.de", "orange.fr", "icloud.com"}
	roles     = []string{"info", "sales", "support", "contact", "admin", "office", "hello", "billing", "noreply", "postmaster"}
)

type geo struct{ city, state, country string }

type job struct{ title, role, seniority string }
