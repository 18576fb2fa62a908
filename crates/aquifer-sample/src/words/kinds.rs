//! The categories, and the texts that describe each kind of product.

/// Name and parent id. The id is the position plus one.
pub(crate) const CATEGORIES: &[(&str, Option<i64>)] = &[
    ("Outdoor", None),
    ("Household", None),
    ("Garden", None),
    ("Tents & Shelters", Some(1)),
    ("Sleeping Gear", Some(1)),
    ("Packs & Bags", Some(1)),
    ("Camp Kitchen", Some(1)),
    ("Lamps & Power", Some(1)),
    ("Kitchen", Some(2)),
    ("Bath & Laundry", Some(2)),
    ("Storage", Some(2)),
    ("Hand Tools", Some(3)),
    ("Stove Parts", Some(7)),
];

pub(crate) struct Kind {
    pub(crate) category: i64,
    /// The first part of the stock keeping unit.
    pub(crate) code: &'static str,
    pub(crate) noun: &'static str,
    /// The price of the cheapest model, in cents.
    pub(crate) price: i64,
    pub(crate) grams: i64,
    pub(crate) materials: [&'static str; 2],
    pub(crate) about: [&'static str; 2],
}

#[rustfmt::skip] // A table with three lines per kind.
pub(crate) const KINDS: &[Kind] = &[
    kind(4, "TNT", "Two-Person Tent", 18900, 2450, ["ripstop nylon", "aluminium"], [
        "A freestanding tent for two with a vestibule on either side, pitched in under five minutes.",
        "The {colour} fly sheds rain at 3000 mm and the inner stays up on its own in dry weather."]),
    kind(4, "TNT", "Family Tent", 32900, 8700, ["polyester", "fibreglass"], [
        "Room for four and their boots, with a porch high enough to stand and cook in.",
        "Two darkened bedrooms keep the little ones asleep past sunrise."]),
    kind(4, "TRP", "Tarp", 5900, 680, ["silnylon", "polyester webbing"], [
        "A 3 × 3 metre tarp with sixteen loops, for a dry kitchen or a night without a tent.",
        "Packs down to the size of a water bottle; guy lines and a {colour} stuff sack are included."]),
    kind(4, "PEG", "Peg Set", 1290, 210, ["aluminium", "paracord"], [
        "Ten Y-shaped pegs that hold in sand as well as in stony ground.",
        "Each peg has a reflective pull, so you'll find all ten again in the morning."]),
    kind(5, "SLP", "Sleeping Bag", 12900, 1150, ["duck down", "ripstop nylon"], [
        "A three-season mummy bag, comfortable down to -4 °C and warm well below that.",
        "The zip runs past the knee and doesn't snag, even with cold fingers."]),
    kind(5, "SLP", "Summer Quilt", 8900, 620, ["recycled polyester", "cotton"], [
        "A light quilt for warm nights, cabins and the sofa.",
        "Snaps at the foot turn it from a blanket into a bag."]),
    kind(5, "MAT", "Sleeping Mat", 6900, 540, ["polyester", "open-cell foam"], [
        "A self-inflating mat, 5 cm thick, with an R-value of 3.8.",
        "The flat valve lets air in quickly and out all at once; a patch kit is tucked into the sack."]),
    kind(5, "PLW", "Camp Pillow", 1990, 130, ["brushed cotton", "foam chips"], [
        "A pillow with a soft {material} cover that rolls up into its own pocket.",
        "Fill it with a jumper if you like to sleep higher."]),
    kind(6, "BPK", "Trekking Backpack", 15900, 1780, ["cordura", "aluminium"], [
        "A 55 litre pack with an adjustable back, made to carry twenty kilos without complaint.",
        "Rain cover, hydration sleeve and a bottom opening are part of it."]),
    kind(6, "BPK", "Day Pack", 6490, 640, ["recycled polyester", "mesh"], [
        "A 22 litre day pack with a padded sleeve that takes a laptop or a flask and lunch.",
        "In {colour}, with a ventilated back and a whistle on the chest strap."]),
    kind(6, "DRY", "Dry Bag", 1490, 95, ["tpu-coated nylon", "acetal"], [
        "A roll-top bag that keeps its contents dry through rain and the odd capsize.",
        "Welded seams, no stitching, nothing to leak."]),
    kind(6, "DFL", "Duffel", 9900, 1320, ["tarpaulin", "steel"], [
        "A 60 litre duffel for car, ferry and hut, with straps to carry it on your back.",
        "The \"D\" shaped lid opens wide; wet things have a compartment of their own."]),
    kind(7, "STV", "Gas Stove", 4990, 310, ["stainless steel", "brass"], [
        "A folding stove that boils a litre in four minutes and simmers without burning the rice.",
        "Runs on screw-top cartridges; the piezo igniter works up to 3000 m."]),
    kind(7, "STV", "Wood Stove", 7490, 890, ["titanium", "steel"], [
        "A little stove that burns twigs and cones with hardly any smoke.",
        "Flat-packs into a sleeve no thicker than a notebook."]),
    kind(7, "POT", "Cook Set", 5490, 720, ["hard-anodised aluminium", "silicone"], [
        "Two pots, a pan and a lid that nest inside one another with the stove in the middle.",
        "Marks on the inside save you a measuring cup."]),
    kind(7, "MUG", "Enamel Mug", 990, 160, ["enamelled steel", "steel"], [
        "A {colour} mug that survives the campfire and the dishwasher alike.",
        "Chips are normal and don't hurt it; they're how you'll know which one is yours."]),
    kind(7, "FLK", "Vacuum Flask", 2990, 420, ["stainless steel", "silicone"], [
        "Keeps tea hot for twelve hours and water cold for a day.",
        "The stopper pours without being taken off and comes apart for cleaning."]),
    kind(7, "FLT", "Water Filter", 3990, 180, ["hollow fibre", "tritan"], [
        "A squeeze filter for clear water from streams and lakes, good for a thousand litres.",
        "Don't let it freeze: ice breaks the fibres and you can't see it from outside."]),
    kind(13, "PRT", "Stove Hose", 1190, 60, ["braided steel", "rubber"], [
        "A spare hose with both couplings, for stoves bought after 2019.",
        "Change it every five years, or at once if the rubber shows cracks."]),
    kind(13, "PRT", "Burner Seal Kit", 590, 15, ["rubber", "silicone grease"], [
        "O-rings and grease for a yearly service; a leaking stove is nearly always an old seal.",
        "Fits every gas stove we've sold so far."]),
    kind(8, "LMP", "Headlamp", 3490, 85, ["polycarbonate", "elastic webbing"], [
        "A 350 lumen headlamp with a red light for reading maps and sparing your friends.",
        "Charges over USB-C and shows how much is left."]),
    kind(8, "LMP", "Camp Lantern", 4490, 390, ["polycarbonate", "bamboo"], [
        "A dimmable lantern with a warm light that reaches around the whole table.",
        "Hangs, stands or sticks by its magnet; runs for forty hours on the lowest step."]),
    kind(8, "PWR", "Power Bank", 3990, 340, ["aluminium", "silicone"], [
        "A 10,000 mAh power bank in a shell that takes a fall.",
        "Charges two devices at once, and itself in three hours."]),
    kind(8, "SOL", "Solar Panel", 8990, 610, ["monocrystalline silicon", "canvas"], [
        "A folding 21 watt panel with loops to tie it over a backpack.",
        "Expect about half of that on a hazy day."]),
    kind(9, "PAN", "Cast Iron Skillet", 4490, 2300, ["cast iron", "flaxseed oil"], [
        "A 12\" skillet, seasoned and ready to fry, for hob, oven and embers.",
        "Wash it without soap, dry it at once, and your grandchildren will argue over it."]),
    kind(9, "KNF", "Chef's Knife", 7900, 220, ["carbon steel", "walnut"], [
        "A 20 cm chef's knife with a {material} handle, ground by hand and balanced at the bolster.",
        "It'll rust if left wet, and take an edge like nothing else if cared for."]),
    kind(9, "BRD", "Cutting Board", 3290, 1400, ["beech", "linseed oil"], [
        "An end-grain board that is kind to knives and heavy enough to stay put.",
        "A groove on one side catches the juice; the other side is flat for dough."]),
    kind(9, "KTL", "Kettle", 5490, 980, ["stainless steel", "cork"], [
        "A 1.7 litre kettle with a slow, steady spout and a {colour} lid.",
        "It whistles, though not unkindly."]),
    kind(9, "JAR", "Preserving Jars", 1890, 2100, ["glass", "natural rubber"], [
        "Six half-litre jars with clips and rings for jam, pickles and sourdough.",
        "Spare rings are in the box."]),
    kind(10, "TWL", "Linen Towel", 2490, 260, ["linen", "cotton"], [
        "A waffle-woven towel that dries you quickly and itself quicker still.",
        "Woven in {colour}; it softens with every wash."]),
    kind(10, "BSK", "Laundry Basket", 3990, 1100, ["willow", "cotton"], [
        "A tall basket of unpeeled {material} with a liner that comes out for washing.",
        "Two handles, one for each person who doesn't want to carry it."]),
    kind(10, "BRS", "Bath Brush", 1490, 140, ["oiled beech", "tampico fibre"], [
        "A long-handled brush that reaches the middle of your back.",
        "Hang it up to dry with the bristles down."]),
    kind(10, "RCK", "Drying Rack", 4590, 3200, ["beech", "stainless steel"], [
        "A folding rack with eighteen metres of line that stands on a balcony or in a bath.",
        "Holds two loads of washing and folds as flat as an ironing board."]),
    kind(11, "BOX", "Storage Crate", 1990, 1250, ["pine", "steel"], [
        "A stacking crate, sanded and unvarnished, for apples, records or shoes.",
        "Four of them make a shelf."]),
    kind(11, "HKS", "Coat Hooks", 2290, 480, ["oak", "brass"], [
        "Five hooks on an oak rail, with screws and plugs for brick and plasterboard.",
        "Rated for wet coats and a full backpack."]),
    kind(11, "TIN", "Bread Tin", 2990, 1150, ["powder-coated steel", "bamboo"], [
        "A {colour} bread tin whose bamboo lid doubles as a board.",
        "Small vents keep the crust crisp for three days, four if nobody bakes."]),
    kind(12, "SHR", "Secateurs", 3490, 240, ["forged steel", "leather"], [
        "Bypass secateurs for stems up to 22 mm, with a catch you can work in gloves.",
        "Every part can be replaced, the spring included."]),
    kind(12, "SPD", "Border Spade", 5290, 1650, ["stainless steel", "ash"], [
        "A narrow spade for planting between what already grows.",
        "The tread is folded, so it doesn't cut through your soles."]),
    kind(12, "CAN", "Watering Can", 3790, 1050, ["galvanised steel", "brass"], [
        "A nine litre can that pours from the tip to the last drop.",
        "The brass rose unscrews for cleaning."]),
    kind(11, "SMP", "Sample Card", 0, 20, ["recycled paper", "cotton"], [
        "Swatches of our fabrics and colours, sent free of charge with any order or by itself.",
        "Screens differ; cards don't."]),
];

const fn kind(
    category: i64,
    code: &'static str,
    noun: &'static str,
    price: i64,
    grams: i64,
    materials: [&'static str; 2],
    about: [&'static str; 2],
) -> Kind {
    Kind { category, code, noun, price, grams, materials, about }
}

/// The names of the models.
pub(crate) const MODELS: &[&str] = &[
    "Alder", "Bramble", "Curlew", "Drift", "Ember", "Fjell", "Gannet", "Heron", "Juniper", "Kestrel", "Linden", "Moor",
    "Nøkken", "Osprey", "Puffin", "Rowan", "Skerry", "Tarn", "Willow", "Yarrow",
];

pub(crate) const COLOURS: &[&str] =
    &["moss green", "slate", "ochre", "midnight blue", "brick red", "sand", "fog grey", "pine", "rust", "natural"];

/// Sentences that fit any product.
pub(crate) const REMARKS: &[&str] = &[
    "Made in small batches in a family workshop.",
    "Spare parts are kept in stock for ten years.",
    "Packed without plastic.",
    "Our warehouse team's favourite three years running.",
    "Now also in {colour}.",
    "The {model} series is repaired free of charge for as long as you own it.",
    "A good first present for someone who \"has everything\".",
    "Older than the shop itself, and still the one we reach for.",
    "The {material} comes from a supplier we visit every year.",
];
