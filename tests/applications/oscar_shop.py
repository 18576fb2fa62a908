"""A django-oscar shop with its own migrations and rows from its own factories. Usage: oscar_shop.py DATABASE_URL"""

import sys
import tempfile
from decimal import Decimal

import django
import oscar.defaults
from django.conf import settings
from oscar import INSTALLED_APPS

import database

options = {name: getattr(oscar.defaults, name) for name in dir(oscar.defaults) if name.isupper()}
options.update(
    SECRET_KEY="test",
    USE_TZ=True,
    SITE_ID=1,
    DATABASES={"default": database.django(sys.argv[1])},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    MEDIA_ROOT=tempfile.mkdtemp(),
    STATIC_URL="/static/",
    ROOT_URLCONF="oscar.urls",
    EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
    HAYSTACK_CONNECTIONS={"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}},
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    OSCAR_INITIAL_ORDER_STATUS="Pending",
    OSCAR_INITIAL_LINE_STATUS="Pending",
    INSTALLED_APPS=INSTALLED_APPS,
    MIDDLEWARE=[],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
        }
    ],
)
settings.configure(**options)
django.setup()

from django.core.management import call_command

call_command("migrate", verbosity=0)

from oscar.core.loading import get_model
from oscar.test import factories

users = factories.UserFactory.create_batch(6)
root = factories.CategoryFactory(name="Everything", depth=1)
categories = [root.add_child(name=f"Category {number}") for number in range(4)]
product_class = factories.ProductClassFactory(name="Books")
products = []
for number in range(15):
    product = factories.create_product(
        title=f"Product {number}",
        upc=f"upc-{number:04}",
        price=Decimal("9.99") + number,
        num_in_stock=5 + number,
        product_class=product_class.name,
    )
    get_model("catalogue", "ProductCategory").objects.create(product=product, category=categories[number % 4])
    products.append(product)
for number, user in enumerate(users):
    basket = factories.create_basket(empty=True)
    basket.owner = user
    basket.save()
    for product in products[number : number + 3]:
        basket.add_product(product, quantity=1 + number % 2)
    factories.create_order(number=f"{1000 + number}", basket=basket, user=user)
    factories.UserAddressFactory(user=user)
    factories.ProductReviewFactory(product=products[number], user=user, score=number % 5 + 1)
for number in range(3):
    factories.VoucherFactory(name=f"Voucher {number}", code=f"CODE-{number}")
    factories.create_offer(name=f"Offer {number}")
