BEGIN TRANSACTION;
CREATE TABLE customers (
	customer_id VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	email VARCHAR NOT NULL, 
	address VARCHAR NOT NULL, 
	language VARCHAR NOT NULL, 
	customer_since DATE NOT NULL, 
	PRIMARY KEY (customer_id), 
	UNIQUE (email)
);
INSERT INTO "customers" VALUES('C-0102','Tom Ashworth','tom.ashworth@example.com','33 Quayside, Bristol','en','2025-02-05');
INSERT INTO "customers" VALUES('C-0113','Yusuf Demir','yusuf.demir@example.com','92 Station Road, Galway','en','2024-02-09');
INSERT INTO "customers" VALUES('C-0117','Aoife Brennan','aoife.brennan@example.com','88 Elm Row, Galway','en','2022-09-18');
INSERT INTO "customers" VALUES('C-0132','Harriet Blackwood','harriet.blackwood@example.com','42 Hawthorn Close, Cardiff','en','2020-10-09');
CREATE TABLE order_lines (
	order_id VARCHAR NOT NULL, 
	position INTEGER NOT NULL, 
	sku VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	quantity INTEGER NOT NULL, 
	unit_price_cents INTEGER NOT NULL, 
	PRIMARY KEY (order_id, position), 
	FOREIGN KEY(order_id) REFERENCES orders (order_id), 
	FOREIGN KEY(sku) REFERENCES products (sku)
);
INSERT INTO "order_lines" VALUES('O-1145',0,'KG-1008','Stand mixer 5 l, cream',1,29900);
INSERT INTO "order_lines" VALUES('O-1145',1,'KG-1009','Pasta roller for stand mixer',1,4449);
INSERT INTO "order_lines" VALUES('O-1308',0,'KG-1037','Pruning saw, folding',1,2350);
INSERT INTO "order_lines" VALUES('O-1308',1,'KG-1034','Bypass secateurs, 21 cm',1,2795);
INSERT INTO "order_lines" VALUES('O-1407',0,'KG-1053','Compost bin 300 l',1,6200);
INSERT INTO "order_lines" VALUES('O-1407',1,'KG-1041','Hand trowel, stainless',1,1595);
INSERT INTO "order_lines" VALUES('O-1407',2,'KG-1040','Digging fork, ash handle',1,4600);
INSERT INTO "order_lines" VALUES('O-1763',0,'KG-1038','Three-legged pruning ladder 2.4 m',2,18900);
INSERT INTO "order_lines" VALUES('O-1864',0,'KG-1046','Wall-mounted hose reel 25 m',1,9998);
INSERT INTO "order_lines" VALUES('O-1864',1,'KG-1049','Wall planter, zinc',2,3099);
INSERT INTO "order_lines" VALUES('O-1870',0,'KG-1006','Stainless stockpot 10 l',1,6900);
INSERT INTO "order_lines" VALUES('O-1870',1,'KG-1041','Hand trowel, stainless',2,1595);
INSERT INTO "order_lines" VALUES('O-1870',2,'KG-1017','Bamboo chopping board set of 3',1,2750);
INSERT INTO "order_lines" VALUES('O-2034',0,'KG-1019','Preserving jars 500 ml, box of 6',1,2495);
INSERT INTO "order_lines" VALUES('O-2110',0,'KG-1055','Bistro table, steel, 60 cm',1,8500);
CREATE TABLE orders (
	order_id VARCHAR NOT NULL, 
	customer_id VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	placed_on DATE NOT NULL, 
	shipped_on DATE, 
	delivered_on DATE, 
	returned_on DATE, 
	cancelled_on DATE, 
	tracking_number VARCHAR, 
	currency VARCHAR NOT NULL, 
	delivery_fee_cents INTEGER NOT NULL, 
	PRIMARY KEY (order_id), 
	FOREIGN KEY(customer_id) REFERENCES customers (customer_id)
);
INSERT INTO "orders" VALUES('O-1145','C-0102','delivered','2026-05-11','2026-05-13','2026-05-18',NULL,NULL,'FX-70794349','EUR',0);
INSERT INTO "orders" VALUES('O-1308','C-0117','delivered','2025-07-28','2025-07-29','2025-07-31',NULL,NULL,'FX-16364239','EUR',0);
INSERT INTO "orders" VALUES('O-1407','C-0132','delivered','2025-06-25','2025-06-28','2025-07-03',NULL,NULL,'FX-93044939','EUR',0);
INSERT INTO "orders" VALUES('O-1763','C-0117','delivered','2026-02-17','2026-02-20','2026-02-25',NULL,NULL,'FX-94061117','EUR',0);
INSERT INTO "orders" VALUES('O-1864','C-0132','returned','2026-05-12','2026-05-14','2026-05-17','2026-05-28',NULL,'FX-55561684','EUR',0);
INSERT INTO "orders" VALUES('O-1870','C-0102','delivered','2025-05-27','2025-05-29','2025-06-01',NULL,NULL,'FX-90288733','EUR',0);
INSERT INTO "orders" VALUES('O-2034','C-0117','delivered','2026-05-20','2026-05-21','2026-05-26',NULL,NULL,'FX-18306965','EUR',495);
INSERT INTO "orders" VALUES('O-2110','C-0113','shipped','2026-05-25','2026-05-27',NULL,NULL,NULL,'FX-60318842','EUR',0);
CREATE TABLE products (
	sku VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	price_cents INTEGER NOT NULL, 
	currency VARCHAR NOT NULL, 
	stock INTEGER NOT NULL, 
	restock_on DATE, 
	PRIMARY KEY (sku)
);
INSERT INTO "products" VALUES('KG-1006','Stainless stockpot 10 l',6900,'EUR',12,NULL);
INSERT INTO "products" VALUES('KG-1008','Stand mixer 5 l, cream',29900,'EUR',6,NULL);
INSERT INTO "products" VALUES('KG-1009','Pasta roller for stand mixer',4449,'EUR',11,NULL);
INSERT INTO "products" VALUES('KG-1017','Bamboo chopping board set of 3',2750,'EUR',26,NULL);
INSERT INTO "products" VALUES('KG-1019','Preserving jars 500 ml, box of 6',2495,'EUR',35,NULL);
INSERT INTO "products" VALUES('KG-1034','Bypass secateurs, 21 cm',2795,'EUR',34,NULL);
INSERT INTO "products" VALUES('KG-1037','Pruning saw, folding',2350,'EUR',20,NULL);
INSERT INTO "products" VALUES('KG-1038','Three-legged pruning ladder 2.4 m',18900,'EUR',2,NULL);
INSERT INTO "products" VALUES('KG-1040','Digging fork, ash handle',4600,'EUR',11,NULL);
INSERT INTO "products" VALUES('KG-1041','Hand trowel, stainless',1595,'EUR',58,NULL);
INSERT INTO "products" VALUES('KG-1046','Wall-mounted hose reel 25 m',9998,'EUR',6,NULL);
INSERT INTO "products" VALUES('KG-1049','Wall planter, zinc',3099,'EUR',19,NULL);
INSERT INTO "products" VALUES('KG-1053','Compost bin 300 l',6200,'EUR',8,NULL);
INSERT INTO "products" VALUES('KG-1055','Bistro table, steel, 60 cm',8500,'EUR',7,NULL);
CREATE TABLE quotes (
	quote_id VARCHAR NOT NULL, 
	order_id VARCHAR NOT NULL, 
	customer_id VARCHAR NOT NULL, 
	ticket_id VARCHAR NOT NULL, 
	amount_cents INTEGER NOT NULL, 
	delivery_fee_cents INTEGER NOT NULL, 
	currency VARCHAR NOT NULL, 
	lines JSON NOT NULL, 
	explanation VARCHAR NOT NULL, 
	reason VARCHAR, 
	made_on DATE NOT NULL, 
	PRIMARY KEY (quote_id), 
	FOREIGN KEY(order_id) REFERENCES orders (order_id), 
	FOREIGN KEY(customer_id) REFERENCES customers (customer_id)
);
INSERT INTO "quotes" VALUES('Q-93a8077875','O-1145','C-0102','T-0004',34349,0,'EUR','[{"sku": "KG-1008", "name": "Stand mixer 5 l, cream", "quantity": 1, "unit_price": 29900, "refund": 29900}, {"sku": "KG-1009", "name": "Pasta roller for stand mixer", "quantity": 1, "unit_price": 4449, "refund": 4449}]','delivered on 2026-05-18, 15 days ago, within 30 days: goods in full; no delivery fee was paid',NULL,'2026-06-02');
INSERT INTO "quotes" VALUES('Q-98da6bf140','O-2034','C-0117','T-0012',2495,0,'EUR','[{"sku": "KG-1019", "name": "Preserving jars 500 ml, box of 6", "quantity": 1, "unit_price": 2495, "refund": 2495}]','delivered on 2026-05-26, 7 days ago, within 30 days: goods in full; delivery fee of 4.95 EUR not refunded',NULL,'2026-06-02');
INSERT INTO "quotes" VALUES('Q-25fb88cd2d','O-1864','C-0132','T-0048',16196,0,'EUR','[{"sku": "KG-1046", "name": "Wall-mounted hose reel 25 m", "quantity": 1, "unit_price": 9998, "refund": 9998}, {"sku": "KG-1049", "name": "Wall planter, zinc", "quantity": 2, "unit_price": 3099, "refund": 6198}]','delivered on 2026-05-17, 16 days ago, within 30 days: goods in full; no delivery fee was paid',NULL,'2026-06-02');
CREATE TABLE refunds (
	refund_id VARCHAR NOT NULL, 
	order_id VARCHAR NOT NULL, 
	quote_id VARCHAR, 
	idempotency_key VARCHAR, 
	ticket_id VARCHAR, 
	amount_cents INTEGER NOT NULL, 
	delivery_fee_cents INTEGER NOT NULL, 
	currency VARCHAR NOT NULL, 
	lines JSON NOT NULL, 
	status VARCHAR NOT NULL, 
	made_on DATE NOT NULL, 
	requested_by VARCHAR, 
	released_by VARCHAR, 
	PRIMARY KEY (refund_id), 
	FOREIGN KEY(order_id) REFERENCES orders (order_id), 
	UNIQUE (quote_id), 
	FOREIGN KEY(quote_id) REFERENCES quotes (quote_id), 
	UNIQUE (idempotency_key)
);
INSERT INTO "refunds" VALUES('R-0104','O-1407',NULL,NULL,NULL,6200,0,'EUR','[{"sku": "KG-1053", "refund": 6200}]','paid','2025-07-12',NULL,NULL);
INSERT INTO "refunds" VALUES('R-0111','O-1145','Q-93a8077875','388846dbc41562513f5575435f887508','T-0004',34349,0,'EUR','[{"sku": "KG-1008", "refund": 29900}, {"sku": "KG-1009", "refund": 4449}]','held','2026-06-02','staff-0007',NULL);
INSERT INTO "refunds" VALUES('R-0112','O-1864','Q-25fb88cd2d','8fd2db52c3bf16da10f8809ddf76b3c5','T-0048',16196,0,'EUR','[{"sku": "KG-1046", "refund": 9998}, {"sku": "KG-1049", "refund": 6198}]','requested','2026-06-02','staff-0007','staff-0007');
CREATE TABLE tickets (
	ticket_id VARCHAR NOT NULL, 
	customer_id VARCHAR, 
	from_name VARCHAR NOT NULL, 
	from_email VARCHAR NOT NULL, 
	sender_verified BOOLEAN NOT NULL, 
	subject VARCHAR NOT NULL, 
	body VARCHAR NOT NULL, 
	received_at VARCHAR NOT NULL, 
	due_at VARCHAR NOT NULL, 
	language VARCHAR NOT NULL, 
	PRIMARY KEY (ticket_id), 
	FOREIGN KEY(customer_id) REFERENCES customers (customer_id)
);
INSERT INTO "tickets" VALUES('T-0004','C-0102','Tom Ashworth','tom.ashworth@example.com',1,'Mixer dead','Hi,

Order O-1145, the cream stand mixer plus the pasta roller. It ran for two doughs, then a smell of hot dust, then nothing. Tried other sockets. I don''t want it mended and I don''t want another, please just refund the whole order. Both boxes are packed and by the door.

Thanks
Tom Ashworth','2026-06-01T08:05:51Z','2026-06-02T08:05:51Z','en');
INSERT INTO "tickets" VALUES('T-0010','C-0113','Yusuf Demir','yusuf.demir@example.com',1,'FX-60318842','Your courier''s page gives me an error for FX-60318842. Could you look where the table is right now? I am only home until four.

Yusuf Demir','2026-06-01T09:47:03Z','2026-06-01T15:47:03Z','en');
INSERT INTO "tickets" VALUES('T-0012','C-0117','Aoife Brennan','aoife.brennan@example.com',1,'smashed jars','Hi, box of preserving jars came today with four of the six in bits (order O-2034). Photos if you want them but I''ve swept up already, I''ve a toddler. Can I have the money back please, I''ll buy local this time.

Aoife B.','2026-06-01T10:22:17Z','2026-06-02T10:22:17Z','en');
INSERT INTO "tickets" VALUES('T-0048','C-0132','Harriet Blackwood','harriet.blackwood@example.com',1,'Returned O-1864, money please','Good morning,

the hose reel and the two zinc planters from O-1864 went back to you last Thursday, your warehouse has signed for them, I have the slip here. Nothing wrong with them, they simply do not fit the wall. The parcel reached me on 17 May, so I trust I am in time. Would you please pay me the money back now.

Kind regards,
Harriet Blackwood','2026-06-02T06:52:21Z','2026-06-03T06:52:21Z','en');
CREATE INDEX ix_orders_customer_id ON orders (customer_id);
CREATE INDEX ix_quotes_order_id ON quotes (order_id);
CREATE INDEX ix_refunds_order_id ON refunds (order_id);
COMMIT;
