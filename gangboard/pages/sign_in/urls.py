"""URLs of the sign-in and sign-out."""

from django.urls import path

from gangboard.pages.sign_in import views
from gangboard.pages.sign_in.single_sign_on import views as single_sign_on

urlpatterns = [
    path("sign-in/", views.SignInView.as_view(), name="sign-in"),
    path("sign-in/link/", views.use_link, name="sign-in-link-use"),
    path("sign-in/link/<str:secret>/", views.follow_link, name="sign-in-link"),
    path("sign-in/provider/", single_sign_on.begin, name="sign-in-provider"),
    path("sign-in/provider/callback/", single_sign_on.finish, name="sign-in-provider-callback"),
    path("sign-out/", views.SignOutView.as_view(), name="sign-out"),
]
